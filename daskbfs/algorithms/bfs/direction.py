"""Which way next, and on which device: pure functions of a summary of the search so far."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

from daskbfs import config
from daskbfs.names import Direction


@dataclass(frozen=True, slots=True)
class Summary:
    """What a search looks like between two levels (GAP's names)."""

    n_rows: int
    n_arcs: int
    awake_count: int
    scout_count: float
    edges_to_check: float
    edges_left: float
    """Arcs of vertices that no frontier has had yet."""
    last_awake_count: int = 0
    bottom_up_steps: int = 0

    @classmethod
    def at_source(cls, n_rows: int, n_arcs: int, degree: int) -> Summary:
        """Before the first level."""
        return cls(
            n_rows,
            n_arcs,
            awake_count=1,
            scout_count=degree,
            edges_to_check=n_arcs,
            edges_left=n_arcs - degree,
        )

    def after(
        self,
        direction: Direction,
        awake_count: int,
        scout_count: float,
        searched: float | None = None,
    ) -> Summary:
        """After one more level; or several, from whose frontiers ``searched`` arcs left."""
        top_down = direction is Direction.TOP_DOWN
        if searched is None:
            searched = self.scout_count
        new_arcs = searched - self.scout_count + scout_count
        return Summary(
            n_rows=self.n_rows,
            n_arcs=self.n_arcs,
            awake_count=awake_count,
            scout_count=scout_count,
            edges_to_check=self.edges_to_check - (searched if top_down else 0),
            edges_left=max(0.0, self.edges_left - new_arcs),
            last_awake_count=self.awake_count,
            bottom_up_steps=self.bottom_up_steps + (not top_down),
        )


Policy = Callable[[Direction, Summary], Direction]
"""Called between two levels as policy(direction now, summary)."""


def beamer(
    now: Direction, summary: Summary, *, alpha: float, beta: float, gamma: float
) -> Direction:
    """Beamer, Asanovic, Patterson: bottom-up while the frontier is a large part of what is left.

    Not where few arcs leave it: at the end of a deep search little is left, and bottom-up levels
    would look at all of that again and again.
    """
    if now is Direction.TOP_DOWN:
        if gamma * summary.scout_count < summary.n_arcs:
            return now
        heavy = summary.scout_count > summary.edges_to_check / alpha
        return Direction.BOTTOM_UP if heavy else now
    shrinking = summary.awake_count < summary.last_awake_count
    small = summary.awake_count < summary.n_rows / beta
    return Direction.TOP_DOWN if shrinking and small else now


def coordinator(now: Direction, summary: Summary, *, percent: float, steps: int) -> Direction:
    """Sallinen, Gharaibeh, Ripeanu: bottom-up from a fixed share of arcs on, for a fixed time."""
    if summary.bottom_up_steps >= steps:
        return Direction.TOP_DOWN
    heavy = summary.scout_count >= summary.n_arcs * percent / 100
    return Direction.BOTTOM_UP if heavy else now


def adaptive(
    now: Direction, summary: Summary, *, alpha: float, beta: float, gamma: float
) -> Direction:
    """Lin, Zhai, Chen: their rules 1, 2 and 4, of which 2 is printed the wrong way round."""
    if gamma * summary.scout_count < summary.n_arcs:
        return Direction.TOP_DOWN
    if now is Direction.TOP_DOWN:
        heavy = alpha * summary.scout_count > summary.edges_left
        return Direction.BOTTOM_UP if heavy else now
    return Direction.TOP_DOWN if beta * summary.awake_count < summary.n_rows else now


class Implementation(enum.StrEnum):
    """Algorithm and device of a level, as Lin, Zhai and Chen call them."""

    TC = "TC"
    """Top-down, CPU."""
    BC = "BC"
    """Bottom-up, CPU."""
    BG = "BG"
    """Bottom-up, GPU."""
    BGC = "BGC"
    """Bottom-up, GPU, with a cache in software for the frontier."""

    @property
    def on_mirrors(self) -> bool:
        """Whether GPUs search, which mirror what CPUs hold."""
        return self in (Implementation.BG, Implementation.BGC)


Choice = Callable[[Direction, Summary], Implementation]
"""Called for each level, once its direction is known."""


def by_frontier(
    direction: Direction, summary: Summary, *, alpha1: float, alpha2: float
) -> Implementation:
    """Lin, Zhai, Chen: their rule 3, for graphs that CPUs hold, and GPUs too."""
    if direction is Direction.TOP_DOWN:
        return Implementation.TC
    ratio = summary.edges_left / max(1.0, summary.scout_count)
    if ratio > alpha1:
        return Implementation.BC
    return Implementation.BGC if ratio > alpha2 else Implementation.BG


def top_down(now: Direction, summary: Summary) -> Direction:
    """Always top-down: the classic algorithm."""
    return Direction.TOP_DOWN


def bottom_up(now: Direction, summary: Summary) -> Direction:
    """Always bottom-up."""
    return Direction.BOTTOM_UP


POLICIES: dict[str, Callable[..., Direction]] = {
    "beamer": beamer,
    "coordinator": coordinator,
    "adaptive": adaptive,
    "top_down": top_down,
    "bottom_up": bottom_up,
}
SETTINGS = {
    "beamer": ("alpha", "beta", "gamma"),
    "coordinator": ("percent", "steps"),
    "adaptive": ("alpha", "beta", "gamma"),
}
"""The numbers of each policy that has some."""
DEVICE_SETTINGS = ("alpha1", "alpha2")
"""Those of the adaptive policy's choice between devices."""


def policy(name: str | None = None) -> Policy:
    """A policy by name (None: the configured one), with the configured numbers."""
    if name is None:
        name = config.get("direction.default")
    if name not in POLICIES:
        raise ValueError(f"direction {name!r} is unknown: choose one of {', '.join(POLICIES)}")
    settings = {key: config.get(f"direction.{name}.{key}") for key in SETTINGS.get(name, ())}
    return functools.partial(POLICIES[name], **settings)


def top_down_below(name: str | None, n_arcs: int) -> float:
    """A policy stays top-down while fewer arcs than these leave the frontier."""
    name = config.get("direction.default") if name is None else name
    if name == "top_down":
        return math.inf
    settings = SETTINGS.get(name, ())
    if "gamma" in settings:
        gamma = config.get(f"direction.{name}.gamma")
        return float(n_arcs / gamma) if gamma > 0 else math.inf
    if "percent" in settings:
        return float(n_arcs * config.get(f"direction.{name}.percent") / 100)
    return 0.0  # it decides before each level


def implementation_choice(name: str | None = None) -> Choice | None:
    """How a policy chooses devices, with the configured numbers; None where it does not."""
    if (config.get("direction.default") if name is None else name) != "adaptive":
        return None
    settings = {key: config.get(f"direction.adaptive.{key}") for key in DEVICE_SETTINGS}
    return functools.partial(by_frontier, **settings)
