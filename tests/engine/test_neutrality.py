"""The engine runs programs: it has no word of any algorithm in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import daskbfs

ENGINE = Path(daskbfs.__file__).parent / "engine"
WORDS = (
    "bfs", "search", "frontier", "parent", "source", "direction", "top.?down", "bottom.?up",
    "pagerank", "rank", "iteration", "distance", "visited",
)  # fmt: skip
OTHERS = ("daskbfs", "StopIteration")
"""Words that have such a word in them and mean something else."""


@pytest.mark.parametrize("path", sorted(ENGINE.rglob("*.py")), ids=lambda p: p.stem)
def test_no_module_of_the_engine_speaks_of_an_algorithm(path):
    text = re.sub("|".join(OTHERS), "", path.read_text())
    found = re.findall(rf"(?i)\b\w*(?:{'|'.join(WORDS)})\w*", text)
    assert not found, f"{path}: {found}"


def test_no_module_of_the_engine_imports_an_algorithm():
    text = "".join(path.read_text() for path in ENGINE.rglob("*.py"))
    assert "daskbfs.algorithms" not in re.sub(r":mod:`[^`]*`", "", text)
    assert "daskbfs.kernels.cpu" not in text
    assert "daskbfs.kernels.gpu" not in text
