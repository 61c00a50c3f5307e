"""The public functions are typed to what they return, as a program outside the package sees it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tests.support import ROOT

PROGRAM = """
import daskbfs
from daskbfs import asynchronous

graph = daskbfs.kronecker(scale=10)
reveal_type(graph)
reveal_type(daskbfs.from_edges([(0, 1)]))
reveal_type(daskbfs.read_graph("graph.el"))
result = daskbfs.bfs(graph, source=0)
reveal_type(result)
reveal_type(result.reached)
reveal_type(daskbfs.pagerank(graph))
reveal_type(daskbfs.connected_components(graph))
reveal_type(daskbfs.diameter(graph))
reveal_type(daskbfs.eccentricity(graph, 0))
placed = daskbfs.distribute(graph)
reveal_type(placed)
reveal_type(placed.n_partitions)
daskbfs.validate(graph, 0, result.parent)


async def search() -> int:
    awaited = await asynchronous.bfs(placed, 0)
    reveal_type(awaited)
    reveal_type(await asynchronous.distribute("kron:10"))
    reveal_type(await asynchronous.connected_components(placed))
    reveal_type(await asynchronous.diameter(placed))
    return awaited.reached


daskbfs.bfs(graph, source="0")
"""
EXPECTED = [
    "daskbfs.graph.graph.Graph", "daskbfs.graph.graph.Graph", "daskbfs.graph.graph.Graph",
    "daskbfs.algorithms.bfs.result.BFSResult", "int",
    "daskbfs.algorithms.pagerank.result.PageRankResult",
    "daskbfs.algorithms.components.result.ComponentsResult",
    "daskbfs.algorithms.diameter.result.DiameterResult", "int",
    "daskbfs.distribution.distributed_graph.DistributedGraph", "int",
    "daskbfs.algorithms.bfs.result.BFSResult",
    "daskbfs.distribution.distributed_graph.DistributedGraph",
    "daskbfs.algorithms.components.result.ComponentsResult",
    "daskbfs.algorithms.diameter.result.DiameterResult",
]  # fmt: skip


def test_what_functions_take_and_return_is_known_outside_the_package(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    words = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "program.py"]
    words += ["--cache-dir", str(tmp_path / "cache"), "--config-file", ""]
    words += ["--follow-imports=silent", "--no-site-packages"]  # only our own types are asked for
    environment = os.environ | {"MYPYPATH": str(ROOT)}  # mypy does not see editable installations
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    said = done.stdout.replace("builtins.", "")
    assert re.findall(r'Revealed type is "([^"]*)"', said) == EXPECTED, said
    (error,) = (line for line in said.splitlines() if "error" in line)
    assert 'has incompatible type "str"; expected "int"' in error
