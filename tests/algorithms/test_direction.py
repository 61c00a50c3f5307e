from __future__ import annotations

import dask
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daskbfs.algorithms.bfs.direction import (
    POLICIES,
    Summary,
    adaptive,
    beamer,
    coordinator,
    policy,
    top_down_below,
)
from daskbfs.names import Direction
from tests.support.samples import summary

TD, BU = Direction.TOP_DOWN, Direction.BOTTOM_UP


# what each policy decides: now, how the summary differs, then
BEAMER_RULES = [
    (TD, {"scout_count": 2000}, TD),
    (TD, {"scout_count": 2001}, BU),
    (TD, {"scout_count": 100, "edges_to_check": 1000}, BU),
    (BU, {"awake_count": 99, "last_awake_count": 200}, TD),
    (BU, {"awake_count": 100, "last_awake_count": 200}, BU),
    (BU, {"awake_count": 99, "last_awake_count": 50}, BU),
]
COORDINATOR_RULES = [
    (TD, {"scout_count": 1499}, TD),
    (TD, {"scout_count": 1500}, BU),
    (BU, {"scout_count": 0, "bottom_up_steps": 1}, BU),
    (BU, {"scout_count": 0, "bottom_up_steps": 3}, TD),
    (TD, {"scout_count": 29_000, "bottom_up_steps": 3}, TD),
]
ADAPTIVE_RULES = [
    (TD, {"scout_count": 29, "edges_left": 100}, TD),  # rule 1: 1000 mf < ma
    (BU, {"scout_count": 29, "awake_count": 1000}, TD),
    (TD, {"scout_count": 200, "edges_left": 20_000}, TD),  # rule 2: 100 mf > ml
    (TD, {"scout_count": 201, "edges_left": 20_000}, BU),
    (BU, {"scout_count": 200, "awake_count": 17}, TD),  # rule 4: 100 nf < na
    (BU, {"scout_count": 200, "awake_count": 18}, BU),
]


@pytest.mark.parametrize(("now", "changes", "then"), BEAMER_RULES)
def test_beamer_switches_where_gap_does(now, changes, then):
    assert beamer(now, summary(**changes), alpha=15, beta=18, gamma=1000) is then


@pytest.mark.parametrize(
    ("now", "scout_count", "then"), [(TD, 468, TD), (TD, 469, BU), (BU, 100, BU)]
)
def test_beamer_stays_top_down_while_few_arcs_leave_the_frontier(now, scout_count, then):
    some = summary(scout_count=scout_count, edges_to_check=1000, awake_count=100)
    assert beamer(now, some, alpha=15, beta=18, gamma=64) is then
    assert (scout_count < top_down_below("beamer", some.n_arcs)) is (scout_count < 469)


@pytest.mark.parametrize(("now", "changes", "then"), COORDINATOR_RULES)
def test_the_coordinator_goes_bottom_up_once_for_a_fixed_time(now, changes, then):
    assert coordinator(now, summary(**changes), percent=5, steps=3) is then


@pytest.mark.parametrize(("now", "changes", "then"), ADAPTIVE_RULES)
def test_the_adaptive_policy_follows_its_rules(now, changes, then):
    assert adaptive(now, summary(**changes), alpha=100, beta=100, gamma=1000) is then


def test_a_summary_keeps_count_as_gap_does():
    start = Summary.at_source(n_rows=100, n_arcs=1000, degree=7)
    assert (start.awake_count, start.scout_count, start.edges_to_check) == (1, 7, 1000)
    after = start.after(TD, awake_count=7, scout_count=300)
    assert (after.edges_to_check, after.last_awake_count, after.bottom_up_steps) == (993, 1, 0)
    later = after.after(BU, awake_count=50, scout_count=500)
    assert (later.edges_to_check, later.last_awake_count, later.bottom_up_steps) == (993, 7, 1)
    assert [s.edges_left for s in (start, after, later)] == [993, 693, 193]


@given(
    now=st.sampled_from(list(Direction)),
    scout=st.integers(0, 10**9),
    awake=st.integers(0, 10**9),
    name=st.sampled_from(sorted(POLICIES)),
)
def test_every_policy_decides_on_any_summary(now, scout, awake, name):
    assert policy(name)(now, summary(scout_count=scout, awake_count=awake)) in Direction


def test_numbers_come_from_the_configuration_when_asked():
    heavy = summary(scout_count=1500)
    assert policy()(TD, heavy) is TD
    with dask.config.set({"daskbfs.direction.beamer.alpha": 100}):
        assert policy()(TD, heavy) is BU
    with dask.config.set({"daskbfs.direction.default": "bottom_up"}):
        assert policy()(TD, summary()) is BU
    assert policy()(TD, heavy) is TD
