from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from daskbfs.bench.compare_runs import compare, format_comparison, read_run
from daskbfs.cli import main


def run_file(folder, name, seconds, sources=None, graph="kron:10", edges=9, device="cpu", **more):
    sources = range(len(seconds)) if sources is None else sources
    trials = [
        {
            "source": source,
            "seconds": time * 0.9,
            "fetch_seconds": time * 0.1,
            "edges": edges,
            "levels": [{"device": device}],
        }
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


def test_repeats_of_one_source_scatter_too(tmp_path):
    called = 0
    for seed in range(40):
        a, b = (
            run_file(tmp_path, f"{name}.json", 1 + noisy(2 * seed + i) / 1e9 + noise, [5] * 64)
            for i, name in enumerate("ab")
            for noise in [np.random.default_rng(2 * seed + i).uniform(0, 0.2, 64)]
        )
        found = compare(read_run(a), read_run(b))
        assert not found["paired"]
        low, high = found["time_factor_interval"]
        assert high > low
        called += found["verdict"] != "undecided"
    assert called <= 7, "5 % by chance"


def test_two_runs_are_compared_by_one_clock(tmp_path):
    a = run_file(tmp_path, "a.json", noisy(1))
    report = json.loads((tmp_path / "a.json").read_text())
    for trial in report["trials"]:
        trial["kernel2_seconds"] = 2 * trial["seconds"]
    (tmp_path / "k.json").write_text(json.dumps(report))
    found = compare(read_run(a), read_run(str(tmp_path / "k.json")))
    assert (found["clock"], found["time_factor"]) == ("fetched_seconds", pytest.approx(1))
    found = compare(*[read_run(str(tmp_path / "k.json"))] * 2)
    assert found["clock"] == "kernel2_seconds"


def test_emulated_times_are_called_so(tmp_path):
    a = run_file(tmp_path, "a.json", noisy(1))
    b = run_file(tmp_path, "b.json", noisy(1), device="gpu-emulated")
    assert "no time here is a GPU's" in format_comparison(compare(read_run(a), read_run(b)))
    assert "GPU" not in format_comparison(compare(read_run(a), read_run(a)))


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
        ({"trials": [{"source": 1}]}, "has no searches to compare .*'edges'"),
        ({"trials": []}, "has 0 searches, too few to judge their scatter: run at least 16"),
        ({"edges": 4}, "went over 9 edges and .*b.json over 4: compare searches without a depth"),
        ({"trials": None}, "has no searches to compare"),
    ],
)
def test_what_cannot_be_compared(tmp_path, changes, message):
    a = run_file(tmp_path, "a.json", noisy(1))
    b = run_file(tmp_path, "b.json", noisy(2), **changes)
    with pytest.raises(ValueError, match=message):
        compare(read_run(a), read_run(b))
