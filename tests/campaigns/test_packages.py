"""What is handed out: the source distribution, the wheel, the notebook."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile

import nbclient
import nbformat
import pytest

from tests.support import ROOT


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
