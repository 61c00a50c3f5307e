"""A file imports only from its own floor or a lower one."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import daskbfs

ROOT = Path(daskbfs.__file__).parent
FLOORS = {
    "types": 0, "telemetry": 0, "machine": 0, "progress": 0, "config": 0,
    "arrays": 0, "installed": 0, "energy": 0, "target": 0, "records": 0,
    "series": 0, "plots": 0, "figures": 0,
    "kernels": 1,
    "edges": 2, "vertices": 2, "graph": 2, "construction": 2, "convert": 2, "generate": 2,
    "locality": 2, "counting": 2, "stored": 2, "columns": 2,
    "io": 2, "trees": 2, "validation": 2,
    "direction": 3, "memory": 3, "strategy": 3, "partition": 3, "placement": 3, "survey": 3,
    "cutting": 3,
    "home": 3, "lease": 3, "programs": 3,
    "pinned": 0,
    "superstep": 4, "post": 4, "wave": 4, "watch": 4, "building": 4, "holding": 4,
    "devices": 4, "hybrid": 4, "metrics": 4, "recorder": 4, "reporting": 4,
    "cluster": 4, "distribution": 4, "warming": 4,
    "drivers": 5, "engine": 5, "result": 5, "search": 5, "ranking": 5,
    "dashboard": 6, "report": 6, "networkx_backend": 6, "networkx_info": 6,
    "baselines": 6, "bench": 6, "doctor": 6, "gpu_findings": 6, "cli": 6, "__main__": 6,
}  # fmt: skip
LONGEST = 450


def room(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path):
    floor = FLOORS[room(path)]
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module]
            if node.module == "daskbfs":
                modules = [f"daskbfs.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            parts = module.split(".")
            if parts[0] == "daskbfs" and len(parts) > 1 and parts[1] != "__version__":
                above = FLOORS[parts[1]]
                assert above <= floor, (
                    f"{path.name}: floor {floor} imports {module} from floor {above}"
                )


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_grows_into_two_rooms(path):
    assert len(path.read_text().splitlines()) <= LONGEST


def test_kernels_know_no_dask_no_clock_and_no_config():
    for path in (ROOT / "kernels").glob("*.py"):
        if (
            path.name == "threads.py"
        ):  # no kernel: it starts threads, and measures how fast they spin
            continue
        names = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in (
                [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            )
        }
        assert not names & {"dask", "distributed", "time", "yaml"}, path.name
