"""Which rows go together: by degree, or at random; pure functions of degrees and devices.

The CPU's partitions come first, those of accelerators behind them. ``high`` gives the CPU the rows
of highest degree, ``low`` those of lowest, ``random`` any, up to a share of the arcs; a side deals
its rows to its partitions in rounds. ``contiguous`` cuts the rows, as they are, into blocks: rows
that are near each other in the input, as in road networks, stay together. ``mirror`` gives the CPU
all rows, hubs dealt evenly, and accelerators the same once more. Where rows are numbered by
decreasing degree, a share by degree is found with one look-up: it is a prefix.
Method: Gharaibeh, Reza, Santos-Neto, Beltrao Costa, Sallinen, Ripeanu (On Graphs, GPUs, and Blind
Dating).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from daskbfs import config, names
from daskbfs.graph.ordering import has_even_degrees
from daskbfs.machine.hardware import human_bytes

MIRROR = "mirror"
STRATEGIES = tuple(name for name in names.STRATEGIES if name != MIRROR)
"""Those that give each row to one partition."""


@dataclass(frozen=True, slots=True)
class Sides:
    """The rows of a graph, in the order in which a strategy hands them out.

    The CPU takes rows from the front on, accelerators have the rest.
    """

    rows: np.ndarray | None
    """None: all rows as they are."""
    arcs: np.ndarray
    """Arcs before each place, and all of them."""
    weights: np.ndarray
    """What rows are dealt by within a side: input degrees, known before duplicates are gone."""
    contiguous: bool = False
    """Whether a side is cut into blocks; otherwise its rows are dealt in rounds."""

    @property
    def n_rows(self) -> int:
        return self.arcs.size - 1

    @property
    def n_arcs(self) -> int:
        return int(self.arcs[-1])

    def cpu_rows(self, share: float) -> int:
        """How many rows have this share of the arcs, as nearly as whole rows allow."""
        if share >= 1 or self.n_arcs == 0:
            return self.n_rows
        wanted = share * self.n_arcs
        above = min(int(np.searchsorted(self.arcs, wanted)), self.n_rows)
        below = max(0, above - 1)
        return above if self.arcs[above] - wanted <= wanted - self.arcs[below] else below

    def fewest_cpu_rows(self, fits: Callable[[int, int], bool]) -> int:
        """The fewest rows for the CPU such that what is left fits: ``fits(n_rows, n_arcs)``."""
        low, high = 0, self.n_rows
        while low < high:
            middle = (low + high) // 2
            if fits(self.n_rows - middle, self.n_arcs - int(self.arcs[middle])):
                high = middle
            else:
                low = middle + 1
        return low

    def deal(self, n_cpu_rows: int, n_cpu: int, n_others: int) -> np.ndarray:
        """The partition of each row: those of the CPU's first.

        Partitions of a side have about as many input edges as each other (of directed graphs: out
        of their rows); where rows are dealt in rounds, they have as many rows, too, but for one.
        """
        owner = np.empty(self.n_rows, np.uint32)
        cut = _in_blocks if self.contiguous else _evenly
        front = cut(self.weights[:n_cpu_rows], n_cpu)
        back = cut(self.weights[n_cpu_rows:], n_others) + np.uint32(n_cpu)
        if self.rows is None:
            owner[:n_cpu_rows], owner[n_cpu_rows:] = front, back
        else:
            owner[self.rows[:n_cpu_rows]], owner[self.rows[n_cpu_rows:]] = front, back
        return owner


def sides(
    arcs: np.ndarray, weights: np.ndarray, strategy: str, seed: int, *, by_degree: bool = True
) -> Sides:
    """Rows as a strategy hands them out; ``arcs`` are those before each row, and all of them.

    ``by_degree`` says that rows come by decreasing degree. Otherwise they are sorted by
    ``weights``, their input degrees, which are known before rows are filled: partitions are the
    same wherever they are built.
    """
    check_strategy(strategy)
    if strategy == "contiguous":
        return Sides(None, arcs, weights, contiguous=True)
    if strategy == "high" and by_degree:
        return Sides(None, arcs, weights)
    rows = np.arange(arcs.size - 1, dtype=np.uint32)
    if strategy == "low" and by_degree:
        return Sides(rows[::-1], arcs[-1] - arcs[::-1], weights[::-1])
    if strategy == "random":
        rows = np.random.default_rng(seed).permutation(rows)
    else:
        decreasing = rows[np.argsort(-weights.astype(np.int64), kind="stable")]
        rows = decreasing if strategy == "high" else decreasing[::-1]
    shuffled = np.zeros(arcs.size, np.int64)
    np.cumsum(np.diff(arcs)[rows], out=shuffled[1:])
    return Sides(rows, shuffled, weights[rows])


def _evenly(weights: np.ndarray, n_partitions: int) -> np.ndarray:
    """A partition for each row, in rounds: each partition gets one row of each.

    In the first rounds, where the hubs are, the heaviest row goes to the partition with the
    least load; later it is enough to deal there and back again.
    """
    if n_partitions == 0:
        return np.empty(0, np.uint32)
    turns = np.arange(n_partitions, dtype=np.uint32)
    owner = np.resize(np.concatenate([turns, turns[::-1]]), weights.size)
    load = np.zeros(n_partitions, np.int64)
    for first in range(0, min(weights.size, _CAREFUL_ROUNDS * n_partitions), n_partitions):
        mine = weights[first : first + n_partitions]
        by_weight = np.argsort(mine, kind="stable")[::-1]
        by_load = np.argsort(load, kind="stable")[: mine.size]
        owner[first + by_weight] = by_load
        load[by_load] += mine[by_weight]
    return owner


_CAREFUL_ROUNDS = 256


def _in_blocks(weights: np.ndarray, n_partitions: int) -> np.ndarray:
    """A partition for each row: as many blocks of rows, of about the same weight."""
    if weights.size == 0 or n_partitions == 0:
        return np.empty(0, np.uint32)
    before = np.cumsum(weights, dtype=np.int64) - weights
    owner = n_partitions * before // max(1, int(before[-1]) + int(weights[-1]))
    return np.minimum(owner, n_partitions - 1).astype(np.uint32)  # rows without weight end all


def check_strategy(strategy: str, *, mirrors: bool = False) -> None:
    """Refuse what is no strategy; mirrors are one only where there may be two kinds of devices."""
    if strategy not in STRATEGIES and not (mirrors and strategy == MIRROR):
        known = ", ".join(("auto", *STRATEGIES, *([MIRROR] if mirrors else ())))
        raise ValueError(f"strategy {strategy!r} is unknown: choose one of {known}")


def check_mirrors(n_cpu: int, n_others: int, cpu_share: float | None) -> None:
    """Refuse mirrors where not every partition of the CPU's has one."""
    if n_cpu == 0 or n_cpu != n_others:
        raise ValueError(
            f"strategy 'mirror' was asked for with {n_cpu} CPU partitions and {n_others} on "
            "accelerators: each of these mirrors one of those, so start as many GPU workers as "
            "CPU workers, or take another strategy"
        )
    if cpu_share is not None:
        raise ValueError(
            f"cpu_share {cpu_share} means nothing to strategy 'mirror', which gives both sides all "
            "rows: leave it out"
        )


def check_share(cpu_share: float) -> float:
    """A share of the arcs, or a ValueError."""
    if not 0 <= cpu_share <= 1:
        raise ValueError(f"cpu_share {cpu_share} is out of range: it is a share, from 0 to 1")
    return float(cpu_share)


def choose(
    strategy: str,
    arcs: np.ndarray,
    *,
    n_cpu: int,
    n_others: int,
    needed_bytes: int = 0,
    other_bytes: int | None = None,
    algorithm: str = "bfs",
) -> tuple[str, str]:
    """The strategy that was asked for or, for ``"auto"``, one by the papers' guidelines; and why.

    ``needed_bytes`` is what the whole graph would take on accelerators that have ``other_bytes``
    together; None, when that is unknown. The share follows from what fits.
    """
    if algorithm not in names.ALGORITHMS:
        known = ", ".join(names.ALGORITHMS)
        raise ValueError(f"algorithm {algorithm!r} is unknown: choose one of {known}")
    if strategy != "auto":
        check_strategy(strategy, mirrors=True)
        return strategy, "asked for"
    if has_even_degrees(np.diff(arcs)):
        why = "degrees are even: there is nothing to specialise in, so rows near each other stay so"
        return "contiguous", why
    if n_others == 0 or n_cpu == 0:
        kind = "CPU workers" if n_others == 0 else "accelerators"
        return "high", f"all partitions are on {kind}, so hubs are dealt evenly among them"
    sizes = "accelerator memory is unknown"
    if other_bytes is not None:
        sizes = f"of the graph's {human_bytes(needed_bytes)} with one search, the accelerators "
        sizes += f"hold {human_bytes(other_bytes)}"
    nearly = config.get("partition.nearly-fits")
    small = other_bytes is not None and needed_bytes * nearly <= other_bytes
    if algorithm == "pagerank":
        if small:
            return "high", f"{sizes}: nearly all, and hubs balance better on the CPU's few threads"
        return "low", f"{sizes}: few rows of many arcs let most arcs fit there"
    if small:
        return "low", f"{sizes}: nearly all, so hubs go there, with a small bitmap"
    return "high", f"{sizes}: the CPU keeps the hubs, whose bitmap fits its cache"
