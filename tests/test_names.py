"""Each list of names is that of the table behind it."""

from __future__ import annotations

from pathlib import Path

from daskbfs import names
from daskbfs.algorithms.bfs.direction import POLICIES
from daskbfs.engine import drivers
from daskbfs.graph.generators import KINDS
from daskbfs.partition.strategy import MIRROR, STRATEGIES


def test_policies():
    assert tuple(POLICIES) == names.POLICIES


def test_generators():
    assert tuple(KINDS) == names.GENERATORS


def test_strategies():
    assert (*STRATEGIES, MIRROR) == names.STRATEGIES


def test_drivers_are_modules():
    found = {path.stem for path in Path(drivers.__file__).parent.glob("*.py")} - {"__init__"}
    assert {"auto", *found} == set(names.DRIVERS)
