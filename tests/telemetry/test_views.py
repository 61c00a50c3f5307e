"""The numbers behind pictures."""

from __future__ import annotations

import pytest

from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import LevelTable
from daskbfs.telemetry.views import DEVICE_COLOURS, devices_of, levels_of, workers_of
from tests.support.samples import TABLE, record

CPU, GPU, EMULATED = Device


def test_levels_sum_a_devices_workers_and_name_the_slowest():
    first, second = levels_of(TABLE)
    assert first.seconds == {CPU: 3.0, EMULATED: 2.5}
    assert first.slowest_seconds == 3.0  # a worker's partitions take turns
    assert first.mean_degree == 4.0
    assert second.direction is Direction.BOTTOM_UP
    assert second.mean_degree == 0.0  # no vertex is left
    assert devices_of(TABLE) == [CPU, EMULATED]


def test_workers_are_busy_or_wait_for_the_slowest():
    a, b = workers_of(TABLE)
    assert (a.worker, a.device, a.partitions) == ("a", CPU, (0, 2))
    assert (a.busy_seconds, a.wait_seconds) == (4.0, 3.0)
    assert (b.busy_seconds, b.wait_seconds) == (6.5, 0.5)
    assert TABLE.kernel_seconds == pytest.approx(a.busy_seconds + a.wait_seconds)
    assert (a.edges_examined, a.exchanged_bytes) == (15, 300)
    assert workers_of(LevelTable(())) == levels_of(LevelTable(())) == []


def test_a_search_without_a_cluster_has_one_worker():
    (here,) = workers_of(LevelTable([record(0, None, CPU, 1.0)]))
    assert here.worker == "here"


def test_every_device_has_a_colour_of_its_own():
    assert len(set(DEVICE_COLOURS.values())) == len(Device)
