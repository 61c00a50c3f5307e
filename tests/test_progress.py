"""How far work has come: here, on workers, and as bars in a terminal."""

from __future__ import annotations

import dask
import pytest

import daskbfs
from daskbfs.progress import (
    JoinedProgress,
    Standing,
    bars,
    publish_progress,
    published_progress,
    silent,
)
from tests.support.terminal import in_a_terminal


def test_progress_is_published_while_the_work_goes_on():
    with publish_progress("run a") as progress:
        assert published_progress("run") == {}
        progress("counting", 3, 10)
        assert published_progress("run") == {"run a": Standing("counting", 3, 10)}
        assert published_progress("other") == {}
    assert published_progress("run") == {}


def test_several_places_are_told_as_one():
    told = []
    joined = JoinedProgress(2, lambda *words: told.append(words))
    joined.update("a", Standing("filling", 5, 10))
    joined.update("b", Standing("filling", 2, 10))
    joined.update("a", Standing("sorting", 1, 4))  # it has filled all, then
    assert told == [
        ("filling", 5, 20),
        ("filling", 7, 20),
        ("filling", 12, 20),
        ("sorting", 1, 8),
    ]


def test_bars_are_silent_where_nobody_looks():
    with bars() as progress:  # pytest is no terminal
        assert progress is silent
    with bars(quiet=True) as progress:
        assert progress is silent


def test_graphs_that_workers_build_tell_how_far_they_are(on_the_cluster):
    told = []
    with (
        dask.config.set({"daskbfs.progress-seconds": 0.01}),
        daskbfs.local_cluster(2) as cluster,
        cluster.get_client() as client,
    ):
        daskbfs.distribute("kron:18", client, progress=lambda *words: told.append(words))
    phases = dict.fromkeys(phase for phase, _, _ in told)
    assert {"counting degrees", "filling rows", "placing partitions"} <= set(phases)
    filling = [(done, total) for phase, done, total in told if phase == "filling rows"]
    assert all(0 < done <= total for done, total in filling)
    assert [done for done, _ in filling] == sorted(done for done, _ in filling)
    assert told[-1] == ("placing partitions", 2, 2)


@pytest.mark.slow
def test_a_terminal_shows_bars_and_quiet_ones_do_not(tmp_path):
    words = ["run", "kron:19", "--sources", "20", "--driver", "direct"]
    loud = in_a_terminal(words, 100, tmp_path)
    for phase in ("counting degrees", "filling rows", "searching"):
        assert phase in loud
    assert "━" in loud
    quiet = in_a_terminal([*words, "--quiet"], 100, tmp_path)
    assert "━" not in quiet
    assert "searching" not in quiet
