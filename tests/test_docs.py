"""What the documentation says is true: docstrings, README and examples run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import dask
import pytest

import daskbfs

ROOT = Path(__file__).parents[1]
MODULES = ["daskbfs"] + [
    name
    for _, name, _ in pkgutil.walk_packages(daskbfs.__path__, "daskbfs.")
    if not name.endswith("__main__")
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_every_public_function_has_an_example():
    for name in daskbfs.__all__:
        value = getattr(daskbfs, name)
        if callable(value) and name not in ("ValidationError", "write_graph"):
            assert ">>>" in (value.__doc__ or ""), name


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name)
def test_examples_run(path, tmp_path):
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, cwd=tmp_path, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.slow
def test_the_readmes_python_runs():
    text = (ROOT / "README.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks
    with dask.config.set({"daskbfs.driver": "auto"}):
        for block in blocks:
            exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})


def test_the_changelog_names_this_version():
    assert f"## {daskbfs.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_door_shows_its_names():
    assert set(daskbfs.__all__) == set(dir(daskbfs))
    with pytest.raises(AttributeError, match="module 'daskbfs' has no attribute 'nothing'"):
        _ = daskbfs.nothing
