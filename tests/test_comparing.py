from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from daskbfs.bench.comparing import compare, read_run
from daskbfs.cli import main


def run_file(folder, name, seconds, sources=None, graph="kron:10", **more):
    sources = range(len(seconds)) if sources is None else sources
    trials = [
        {"source": source, "seconds": time * 0.9, "fetch_seconds": time * 0.1}
        for source, time in zip(sources, seconds, strict=True)
    ]
    report = {
        "daskbfs": "0",
        "graph": {"name": graph, "n_vertices": 4, "n_edges": 3},
        "trials": trials,
        **more,
    }
    (folder / name).write_text(json.dumps(report))
    return str(folder / name)


def noisy(seed, factor=1.0, n=64):
    """Searches that differ by source more than by chance."""
    by_source = np.random.default_rng(77).uniform(1, 5, n)
    return factor * by_source * np.random.default_rng(seed).lognormal(0, 0.1, n)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(0.9, "faster"), (1.0, "undecided"), (1.1, "slower")]
)
def test_each_source_is_compared_with_itself(tmp_path, factor, verdict):
    a, b = (
        run_file(tmp_path, "a.json", noisy(1)),
        run_file(tmp_path, "b.json", noisy(2, factor)),
    )
    found = compare(read_run(a), read_run(b))
    assert found["paired"]
    assert found["verdict"] == verdict
    low, high = found["time_factor_interval"]
    assert low < factor < high
    assert high - low < 0.1, "the sources' own differences do not widen it"


def test_other_sources_are_compared_all_with_all(tmp_path):
    a = run_file(tmp_path, "a.json", noisy(1))
    b = run_file(tmp_path, "b.json", noisy(2, 0.9), sources=range(100, 164))
    found = compare(read_run(a), read_run(b))
    assert not found["paired"]
    assert found["verdict"] == "undecided", "so many sources differ by more"
    c = run_file(tmp_path, "c.json", noisy(2, 0.5), sources=range(100, 164))
    assert compare(read_run(a), read_run(c))["verdict"] == "faster"


def test_noise_alone_is_seldom_sold_as_progress(tmp_path):
    called = 0
    for seed in range(100):
        a = run_file(tmp_path, "a.json", noisy(2 * seed))
        b = run_file(tmp_path, "b.json", noisy(2 * seed + 1))
        called += compare(read_run(a), read_run(b))["verdict"] != "undecided"
    assert called <= 12, "5 % by chance"


def test_the_command_says_it_in_words(tmp_path):
    a, b = (run_file(tmp_path, f"{n}.json", noisy(1, f)) for n, f in (("a", 1.0), ("b", 0.5)))
    words = ["compare-runs", a, b]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert f"{b} is faster than {a}: its searches take 0.500 times as long" in done.output
    done = CliRunner().invoke(main, [*words, "--json", "-"])
    assert json.loads(done.output)["time_factor"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"graph": "kron:11"}, "searched other graphs, kron:10 .* and kron:11"),
        ({"validated": False}, "has a tree that failed its checks"),
        ({"trials": [{"source": 1}]}, "has no searches to compare .*'seconds'"),
        ({"trials": []}, "has too few searches to judge their scatter: at least 5"),
        ({"trials": None}, "has no searches to compare"),
    ],
)
def test_what_cannot_be_compared(tmp_path, changes, message):
    a = run_file(tmp_path, "a.json", noisy(1))
    b = run_file(tmp_path, "b.json", noisy(2), **changes)
    with pytest.raises(ValueError, match=message):
        compare(read_run(a), read_run(b))
