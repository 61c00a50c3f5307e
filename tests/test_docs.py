"""What the documentation says is true: docstrings, README and examples run."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import dask
import nbclient
import nbformat
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
@pytest.mark.filterwarnings("ignore")  # of the notebook's tools
def test_the_notebook_runs(tmp_path):
    notebook = nbformat.read(ROOT / "examples" / "tour.ipynb", 4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=240, resources=where).execute()
    shown = [
        output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])
    ]
    assert any("image/png" in data for data in shown)
    assert any("reached" in str(data) or "vertices in" in str(data) for data in shown)


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


@pytest.mark.slow
def test_packages_install_and_run_in_an_empty_environment(tmp_path):
    """From the source distribution a wheel is built, and from the wheel a search is run."""
    words = [sys.executable, "-m", "build", "--outdir", tmp_path, ROOT]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,), (source,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "daskbfs/py.typed",
        "daskbfs/daskbfs.yaml",
        "daskbfs/interop/networkx_info.py",
        "daskbfs/__init__.pyi",
    } <= inside
    assert not any(name.startswith("tests") for name in inside)
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "pyproject.toml", "daskbfs/__init__.py"} <= names
    venv.create(tmp_path / "empty", with_pip=True)
    programs = tmp_path / "empty" / "bin"
    subprocess.run([programs / "pip", "install", "--quiet", wheel], check=True, cwd=tmp_path)
    words = [programs / "daskbfs", "run", "kron:8", "--sources", "2", "--validate"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert "every tree passed the five Graph500 checks" in done.stdout, done.stderr
    done = subprocess.run(
        [programs / "dask", "bfs", "convert", "kron:8", "g.dbfs"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "g.dbfs").exists()
