"""What the documentation says is true: docstrings, README and examples run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
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


def test_every_public_name_has_an_example():
    for name in daskbfs.__all__:
        value = getattr(daskbfs, name)
        if callable(value):
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
    assert {path.stem for path in EXAMPLES} >= {
        "quickstart", "your_own_edges", "hybrid_node", "monitor_with_dashboard",
        "graph500_on_a_cluster", "pagerank", "compare_partitionings",
    }  # fmt: skip
    assert all(len(path.read_text().splitlines()) < 50 for path in EXAMPLES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "GUIDE.md"])
def test_the_python_in_our_pages_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / name).read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks
    with dask.config.set({"daskbfs.driver": "auto"}):
        for block in blocks:
            exec(compile(block, name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("name", ["README.md", "GUIDE.md", "CONTRIBUTING.md"])
def test_pages_are_finished_and_their_links_lead_somewhere(name):
    text = (ROOT / name).read_text()
    assert not re.search(r"^[A-Z]{4,}$", text, re.MULTILINE), "a place that was to be filled"
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        page, _, heading = target.partition("#")
        assert (ROOT / (page or name)).exists(), target
        if heading:
            headings = re.findall(r"^#+ (.*)$", (ROOT / (page or name)).read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in headings}
            assert heading in anchors, target


def test_the_changelog_names_this_version():
    assert f"## {daskbfs.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_dir_lists_the_public_names():
    assert set(daskbfs.__all__) == {"__version__", *dir(daskbfs)}
    with pytest.raises(AttributeError, match="No daskbfs attribute nothing"):
        _ = daskbfs.nothing
