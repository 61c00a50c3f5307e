"""Many top-down levels in one call: the same trees, records and ends as level by level."""

from __future__ import annotations

import itertools

import dask
import numpy as np
import pytest

import daskbfs
from daskbfs.algorithms.bfs.warmup import warm_kernels
from daskbfs.bench.shapes import grid_edges
from daskbfs.kernels.cpu import bfs as cpu_bfs
from daskbfs.telemetry.levels import LevelSpan
from tests.support import naive

KERNELS = ("top_down", "bottom_up", "bitmap_to_queue", "forget_unvisited")
SETTINGS = [
    {"clear-rows": clear_rows, "serial-arcs": serial_arcs, "gamma": gamma}
    for clear_rows, serial_arcs, gamma in itertools.product((0, 2**20), (1, 2**40), (1, 64, 2**40))
]


def configured(settings):
    return dask.config.set(
        {
            "daskbfs.kernels.clear-rows": settings["clear-rows"],
            "daskbfs.kernels.serial-arcs": settings["serial-arcs"],
            "daskbfs.direction.beamer.gamma": settings["gamma"],
        }
    )


def a_grid(side):
    return np.stack(grid_edges(side), axis=1)


GRAPHS = {
    "grid": (a_grid(60), False),
    "skewed": (np.stack(daskbfs.to_edges(daskbfs.kronecker(10)), axis=1), False),
    "even": (np.stack(daskbfs.to_edges(daskbfs.uniform(10)), axis=1), False),
    "directed": (np.random.default_rng(3).zipf(1.7, (6000, 2)) % 1500, True),
    "two components": (np.concatenate([a_grid(20), a_grid(25) + 400]), False),
    "path": (np.stack([np.arange(5000), np.arange(1, 5001)], axis=1), False),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_levels_and_records_are_those_of_the_oracle(name):
    edges, directed = GRAPHS[name]
    edges = np.asarray(edges)
    graph = daskbfs.from_edges(edges, directed=directed)
    source = int(graph.random_sources(1)[0])
    oracle = naive.levels(edges.tolist(), source, directed)
    level = np.array([oracle.get(v, -1) for v in range(graph.n_vertices)])
    sizes = np.bincount(level[level >= 0])
    out_degree = np.zeros(graph.n_vertices, int)
    rows = graph.original_index[: graph.n_rows]
    out_degree[rows] = np.diff(graph.out.indptr)
    for settings in SETTINGS:
        with configured(settings):
            result = daskbfs.bfs(graph, source, driver="direct")
        assert np.array_equal(result.level, level), settings
        daskbfs.validate(graph, source, result.parent, result.level)
        assert [record.frontier_vertices for record in result.levels] == sizes.tolist(), settings
        assert [record.level for record in result.levels] == list(range(sizes.size))
        for record in result.levels:
            if record.direction == "top_down":
                assert record.edges_examined == out_degree[level == record.level].sum()
            assert record.kernel_seconds >= 0
        total = sum(record.kernel_seconds for record in result.levels)
        assert total == pytest.approx(result.kernel_seconds)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_depth_limits_and_targets_end_a_search_where_they_say(settings):
    graph = daskbfs.from_edges(a_grid(40))
    full = daskbfs.bfs(graph, 0, driver="direct").level
    with configured(settings):
        for limit in (0, 1, 7, 30, 500):
            result = daskbfs.bfs(graph, 0, driver="direct", depth_limit=limit)
            assert np.array_equal(result.level, np.where(full <= limit, full, -1))
        for targets in ([1], [0], [820, 41], [1599, 3]):
            last = full[targets].max()
            result = daskbfs.bfs(graph, 0, driver="direct", targets=targets)
            assert np.array_equal(result.level, np.where(full <= last, full, -1))
            assert result.last_level == last


def test_a_deep_search_takes_few_supersteps_and_one_wave_has_many_levels(one_worker):
    graph = daskbfs.from_edges(a_grid(64))
    placed = daskbfs.distribute(graph, one_worker)
    for driver in ("waves", "resident"):
        result = daskbfs.bfs(placed, 0, driver=driver)
        assert result.levels.n_levels == 127
        assert np.array_equal(result.level, np.add.outer(range(64), range(64)).ravel())
        spans = result.levels.measured
        assert len(spans) < 5
        assert all(isinstance(span, LevelSpan) for span in spans)
    placed.release()
    del result


def test_memory_that_served_a_search_before_does_not_show_in_the_next(kron12):
    sources = kron12.random_sources(6)
    for settings in SETTINGS:
        with configured(settings):
            for source in sources.tolist():
                daskbfs.bfs(kron12, source, depth_limit=2)
                result = daskbfs.bfs(kron12, source)
                daskbfs.validate(kron12, source, result.parent, result.level)


def test_no_kernel_is_compiled_in_a_search_that_begins_with_either_state():
    """Kernels for a lone partition are loaded before the clock runs."""
    warm_kernels("uint32", 1)
    before = {name: len(getattr(cpu_bfs, name).signatures) for name in KERNELS}
    assert all(before.values()), before
    for settings in SETTINGS:
        with configured(settings):
            for graph in (daskbfs.kronecker(10), daskbfs.uniform(10)):
                daskbfs.bfs(graph, int(graph.random_sources(1)[0]), driver="direct")
    assert before == {name: len(getattr(cpu_bfs, name).signatures) for name in KERNELS}
