"""Numbers for the policies, fitted to times of levels."""

from __future__ import annotations

import json

import dask
import pytest
import yaml
from click.testing import CliRunner

import daskbfs
from daskbfs.algorithms.bfs.direction import Implementation
from daskbfs.bench.calibration import TimedLevel, TimedSearch, as_yaml, cost, propose, time_levels
from daskbfs.cli import main

TC, BC, BG, BGC = Implementation
COUNTS = [(1, 40), (40, 4_000), (4_000, 90_000), (20_000, 60_000), (900, 1_000)]


def invented(times):
    """A search with these milliseconds for each level and implementation."""
    levels = [
        TimedLevel(awake, scout, {way: 1e-3 * ms for way, ms in seconds.items()})
        for (awake, scout), seconds in zip(COUNTS, times, strict=True)
    ]
    return TimedSearch(30_000, 160_000, levels)


def top_down_until(switch):
    """Top-down is better before a level, bottom-up from there on."""
    return [{TC: 1.0, BC: 9.0} if n < switch else {TC: 9.0, BC: 1.0} for n in range(len(COUNTS))]


@pytest.mark.parametrize("switch", [1, 2])
@pytest.mark.parametrize("which", [0, 1])
def test_the_switch_is_put_where_bottom_up_begins_to_pay(which, switch):
    search = invented(top_down_until(switch))
    found = propose([search])[which]
    assert found.seconds_proposed <= found.seconds_now
    assert found.seconds_proposed == pytest.approx(found.seconds_best, rel=0.01)
    assert cost(found.policy, found.proposed, [search]) == found.seconds_proposed


def test_numbers_that_are_as_good_as_any_stay():
    for found in propose([invented([{TC: 1.0, BC: 1.0}] * len(COUNTS))]):
        assert found.proposed == found.now


def test_devices_are_chosen_by_what_is_left():
    times = [{TC: 1.0, BC: 9.0, BG: 9.0, BGC: 9.0}] * 2
    times += [{TC: 9.0, BC: 5.0, BG: 1.0, BGC: 5.0}] * 2 + [{TC: 5.0, BC: 5.0, BG: 9.0, BGC: 9.0}]
    found = propose([invented(times)])[1]
    assert found.seconds_proposed == pytest.approx(found.seconds_best)
    assert found.proposed["alpha1"] >= found.proposed["alpha2"]


def test_proposals_are_a_file_of_dasks_configuration():
    text = as_yaml(propose([invented(top_down_until(1))]))
    direction = yaml.safe_load(text)["daskbfs"]["direction"]
    assert direction["beamer"].keys() == {"alpha", "beta", "gamma"}
    assert direction["adaptive"].keys() == {"alpha", "beta", "gamma", "alpha1", "alpha2"}


def test_levels_are_timed_in_every_way(kron12):
    (search,) = time_levels(kron12, [int(kron12.random_sources(1)[0])], rounds=1)
    expected = daskbfs.bfs(kron12, int(kron12.random_sources(1)[0]), driver="direct").levels
    assert [level.awake_count for level in search.levels] == [
        record.frontier_vertices for record in expected
    ]
    assert all(set(level.seconds) == {TC, BC} for level in search.levels)
    assert sum(level.scout_count for level in search.levels) <= kron12.n_arcs + len(expected)


def test_the_command_prints_numbers_and_writes_them(tmp_path):
    numbers, times = tmp_path / "daskbfs.yaml", tmp_path / "times.json"
    done = CliRunner().invoke(
        main,
        ["calibrate", "kron:10", "--rounds", "1", "--sources", "2", "--output", str(numbers),
         "--json", str(times)],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "beamer: a search takes" in done.stdout
    assert yaml.safe_load(numbers.read_text())["daskbfs"]["direction"]["adaptive"]["alpha1"] == 40
    found = json.loads(times.read_text())
    assert [p["policy"] for p in found["proposals"]] == ["beamer", "adaptive"]
    assert len(found["searches"]) == 2


@pytest.mark.slow
def test_an_emulated_gpu_is_timed_too_and_called_so(tmp_path):
    done = CliRunner().invoke(
        main,
        ["calibrate", "kron:9", "--rounds", "1", "--sources", "1",
         "--devices", "cpu=1,gpu-emulated=1"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "# gpu-emulated ran a GPU's kernels on the CPU" in done.stdout


def test_a_file_that_is_there_is_not_replaced(tmp_path):
    target = tmp_path / "daskbfs.yaml"
    target.write_text("mine: 1")
    done = CliRunner().invoke(main, ["calibrate", "kron:8", "--output", str(target)])
    assert done.exit_code == 2
    assert "is there already" in done.output
    assert target.read_text() == "mine: 1"


def test_numbers_that_cannot_be_fitted_are_named():
    with (
        dask.config.set({"daskbfs.direction.beamer.alpha": 0}),
        pytest.raises(ValueError, match=r"beamer.alpha is 0: it must be above 0"),
    ):
        propose([invented(top_down_until(1))])


@pytest.mark.parametrize("devices", ["cpu=2", "gpu-emulated=1", "cpu=1,gpu-emulated=2"])
def test_one_cpu_and_one_gpu_at_most(devices):
    done = CliRunner().invoke(main, ["calibrate", "kron:8", "--devices", devices])
    assert done.exit_code == 2
    assert "one CPU, and one GPU beside it or none" in done.output
