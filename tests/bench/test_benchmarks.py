from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import daskbfs
from daskbfs.bench import limit, networkx_calls, reading, validating
from daskbfs.bench.partitioning import verdicts
from daskbfs.partition.strategy import STRATEGIES

REFERENCE = """
def bfs(indptr, indices, first, n, source, state, visited):
    assert indptr.size == n + 1 and first.size == n and visited.size == -(-n // 64)
    assert source < n
"""


@pytest.mark.slow
def test_the_benchmark_of_workers_times_every_way(tmp_path):
    words = [
        "kron:8",
        "path:20",
        "--rounds",
        "1",
        "--sources",
        "2",
        "--quiet",
        "--json",
        "out.json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "daskbfs.bench.workers", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    kron, path = json.loads((tmp_path / "out.json").read_text())["rows"]
    ways = ["direct", "1 worker", "2 workers, resident", "2 workers, waves"]
    assert list(kron["seconds"]) == list(path["seconds"]) == ways
    assert [len(times) for times in kron["seconds"].values()] == [2] * 4
    assert min(min(times) for times in path["seconds"].values()) > 0


@pytest.mark.slow
def test_the_kernel_benchmark_writes_its_figures(tmp_path):
    (tmp_path / "reference_search.py").write_text(REFERENCE)
    words = [
        "--scale",
        "10",
        "--sources",
        "3",
        "--construction",
        "--resident",
        "--json",
        "out.json",
    ]
    words += ["--reference", "reference_search.py"]
    done = subprocess.run(
        [sys.executable, "-m", "daskbfs.bench.kernels", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())["scales"]["10"]
    assert figures["search"]["mean_ms"] > figures["kernel"]["mean_ms"] > 0
    assert figures["construction"]["peak_bytes"] > figures["construction"]["graph_bytes"]
    assert figures["streaming"]["seconds"] > 0
    ratios = {f"{name}_to_reference" for name in ("kernel", "search", "resident")}
    assert ratios | {"kernel_gteps", "level"} <= set(figures)
    assert "x the reference" in done.stdout


def test_the_validation_benchmark_times_all_ways():
    done = CliRunner().invoke(validating.main, ["--scale", "9", "--rounds", "1"])
    assert done.exit_code == 0, done.output
    assert [line.split("  ")[0] for line in done.stdout.splitlines()] == [
        "rows", "edges", "edges, 16 trees"
    ]  # fmt: skip


@pytest.mark.slow
def test_the_partitioning_benchmark_sweeps_and_tells_who_wins(tmp_path):
    words = ["--scale", "9", "--sources", "2", "--share", "0.5", "--json", "out.json"]
    done = subprocess.run(
        [sys.executable, "-m", "daskbfs.bench.partitioning", *words, "--plot", "out.png"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out.json").read_text())
    assert [swept["graph"] for swept in report["sweeps"]] == ["kron:9", "uniform:9"]
    for swept in report["sweeps"]:
        assert {point["strategy"] for point in swept["points"]} == set(STRATEGIES)
        assert all(point["teps"] > 0 for point in swept["points"])
    assert done.stdout.count("best rate: high") == 2
    assert (tmp_path / "out.png").read_bytes()[:4] == b"\x89PNG"


def test_verdicts_are_plain():
    def point(strategy, teps, kernel_seconds):
        return {
            "strategy": strategy, "cpu_share": 0.5, "teps": teps, "kernel_seconds": kernel_seconds
        }  # fmt: skip

    points = [point("random", 100.0, 1.0), point("high", 150.0, 2.0), point("low", 101.0, 1.0)]
    rate_high, rate_low, kernel_high, kernel_low = verdicts(points)
    assert rate_high.startswith("best rate: high beats random by 50%")
    assert "low is no different from random" in rate_low
    assert "high loses to random by 50%" in kernel_high
    assert "low is no different" in kernel_low


def test_the_reading_benchmark_times_formats(tmp_path):
    words = ["--scale", "8", "--rounds", "1", "--quiet", "--json", str(tmp_path / "out.json")]
    done = CliRunner().invoke(reading.main, words)
    assert done.exit_code == 0, done.output
    rows = {row["name"]: row for row in json.loads((tmp_path / "out.json").read_text())["rows"]}
    assert {"el, parsed", "el, polars", "el, to a graph", "dbfs, to a graph"} <= set(rows)
    assert all(row["megabytes_per_second"] > 0 for row in rows.values())


def test_the_networkx_benchmark_times_both(tmp_path):
    words = ["--scale", "7", "--rounds", "1", "--quiet", "--json", str(tmp_path / "out.json")]
    done = CliRunner().invoke(networkx_calls.main, words)
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "out.json").read_text())
    assert [row["name"] for row in report["rows"]][1:] == [
        "bfs_edges", "connected_components", "pagerank"
    ]  # fmt: skip
    assert all(row["daskbfs_seconds"] > 0 for row in report["rows"])


def test_the_limit_counts_what_each_level_must_touch(tmp_path):
    star = daskbfs.from_edges([(0, leaf) for leaf in range(1, 1001)])
    result = daskbfs.bfs(star, 1, direction="top_down")
    by_row = result.level[star.original_index[: star.n_rows]]
    from_leaf, from_centre, from_leaves = (
        limit.least_touched(star, by_row, record) for record in result.levels
    )
    assert (from_leaf.looks, from_centre.looks, from_leaves.looks) == (1, 1000, 999)
    # offsets, name, arcs and parent, a line each; then 1,000 arcs and 999 parents
    assert from_leaf.lines == 4
    assert from_centre.lines == 2 + 63 + 63
    done = CliRunner().invoke(
        limit.main, ["kron:9", "--sources", "2", "--quiet", "--json", str(tmp_path / "f.json")]
    )
    assert done.exit_code == 0, done.output
    assert "kernels take" in done.output
    figures = json.loads((tmp_path / "f.json").read_text())
    for levels in figures["searches"]:
        for row in levels:
            assert row["lines"] > 0 and row["seconds"] >= 0
            assert row["least_seconds"] > 0
