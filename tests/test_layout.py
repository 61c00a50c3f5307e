"""The packages are the architecture: each imports only from packages above it in the list."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import daskbfs

ROOT = Path(daskbfs.__file__).parent
PACKAGES = (
    "names", "config", "progress",
    "machine", "telemetry", "kernels", "graph", "validation", "io", "plotting",
    "partition", "cluster", "distribution", "engine", "algorithms",
    "dashboard", "interop", "asynchronous", "doctor", "bench", "cli", "__main__",
)  # fmt: skip
LONGEST = 450
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")
BY_NAME = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


def package_of(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported(path):
    """The modules of daskbfs that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "daskbfs":
            yield from (f"daskbfs.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@BY_NAME
def test_a_package_imports_only_from_packages_above_it(path):
    place = PACKAGES.index(package_of(path))
    for module in imported(path):
        parts = module.split(".")
        if parts[0] == "daskbfs" and parts[1:] not in ([], ["__version__"]):
            assert PACKAGES.index(parts[1]) <= place, f"{package_of(path)} imports {module}"


@BY_NAME
def test_no_module_is_two(path):
    assert len(path.read_text().splitlines()) <= LONGEST


def test_few_modules_stand_beside_the_packages():
    assert len(list(ROOT.glob("*.py"))) <= 6


def test_kernels_know_no_dask_no_clock_and_no_config():
    for path in (ROOT / "kernels").rglob("*.py"):
        if path.name == "threads.py":  # starts threads, and is told how they wait
            continue
        names = {name.split(".")[0] for name in imported(path)}
        assert not names & {"dask", "distributed", "time", "yaml"}, path.name


def test_the_engine_knows_no_algorithm():
    """Nothing in it is named after an algorithm or a result of one."""
    for path in (ROOT / "engine").rglob("*.py"):
        imports = [module for module in imported(path) if ".algorithms" in module]
        assert imports == [], path.name


def test_tests_mirror_the_packages():
    tests = Path(__file__).parent
    folders = {path.name for path in tests.iterdir() if list(path.glob("**/test_*.py"))}
    assert folders <= {*PACKAGES, "campaigns"}
