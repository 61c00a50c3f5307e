"""Graphs made of random numbers: Kronecker (Graph500) and uniform (Erdos-Renyi).

Edge k depends on the seed and on k alone, so a graph is the same whatever the number of threads
or blocks, and any block can be made without the others. ``kron`` is the fast way to a Kronecker
graph; ``kron-reference`` has the very edges of the Graph500 reference code.
"""

from __future__ import annotations

import abc
import time
from collections.abc import Iterator

import numpy as np

from daskbfs.graph.build import build_graph
from daskbfs.graph.edge_stream import BLOCK_EDGES, Block, BlockwiseStream, Origin, block_ranges
from daskbfs.graph.graph import Graph
from daskbfs.graph.vertex_ids import as_integer
from daskbfs.kernels import graph500_random as mrg
from daskbfs.kernels.generators import (
    GROUP_CODES,
    GROUP_LEVELS,
    THRESHOLD_BITS,
    kronecker_edges,
    uniform_edges,
)
from daskbfs.kernels.threads import n_threads
from daskbfs.progress import Progress, silent

MAX_SCALE = 31
MAX_SEED = 2**63
GRAPH500 = (0.57, 0.19, 0.19, 0.05)
_MIN_BLOCK_EDGES = 2**16


class RandomEdges(BlockwiseStream):
    """A stream of random edges over 2**scale vertices."""

    default_seed = 1
    seconds: float = 0.0

    def __init__(self, scale: int, edgefactor: int, seed: int) -> None:
        self.scale = scale
        self.n_vertices = 2**scale
        self.n_edges = edgefactor * self.n_vertices
        words = np.random.SeedSequence(seed).generate_state(7, np.uint64)
        self._key = words[0]
        self._odd = words[1:] | np.uint64(1)

    @abc.abstractmethod
    def make(self, first: int, heads: np.ndarray, tails: np.ndarray) -> None:
        """Fill uint32 arrays with the edges from number ``first`` on."""

    def every(self, first: int, step: int) -> Iterator[Block]:
        size = max(_MIN_BLOCK_EDGES, min(BLOCK_EDGES, self.n_edges // 16))
        heads, tails = np.empty(size, np.uint32), np.empty(size, np.uint32)
        for begin, n in block_ranges(self.n_edges, first, step, size):
            start = time.perf_counter()
            self.make(begin, heads[:n], tails[:n])
            self.seconds += time.perf_counter() - start
            yield heads[:n], tails[:n]


class KroneckerEdges(RandomEdges):
    """Edges by the recursive matrix of Graph500, labels permuted."""

    def __init__(self, scale: int, edgefactor: int, seed: int) -> None:
        super().__init__(scale, edgefactor, seed)
        self._full_table = _alias_table(GRAPH500, GROUP_LEVELS)
        self._left_table = _alias_table(GRAPH500, scale % GROUP_LEVELS)

    def make(self, first: int, heads: np.ndarray, tails: np.ndarray) -> None:
        kronecker_edges(
            first,
            heads,
            tails,
            self.scale,
            self._key,
            self._odd,
            self._full_table,
            self._left_table,
            n_threads(),
        )


class ReferenceEdges(RandomEdges):
    """The edges that the Graph500 reference code makes, in its order.

    Its two seeds are ``seed`` and ``seed + 1``; 2 and 3 are built into the official code.
    """

    default_seed = 2

    def __init__(self, scale: int, edgefactor: int, seed: int) -> None:
        super().__init__(scale, edgefactor, seed)
        if self.n_edges > mrg.MOST_EDGES:
            raise ValueError(
                f"{self.n_edges} edges are too many for the reference generator: at most "
                f"{mrg.MOST_EDGES} (2**40) have numbers of their own here"
            )
        self._state = _reference_state(seed, seed + 1)
        first = _numbers(mrg.product(mrg.transition(50 * 2**128 + 7 * 2**64), self._state))
        pairs = [(next(first), next(first)) for _ in range(2)]
        self._values = [np.uint64((high * (2**32 - 1) + low) % 2**64) for high, low in pairs]
        self._skips = mrg.skip_table()

    def make(self, first: int, heads: np.ndarray, tails: np.ndarray) -> None:
        mrg.reference_edges(
            first,
            heads,
            tails,
            self.scale,
            self._state,
            self._skips,
            *self._values,
            n_threads(),
        )

    def key_candidates(self) -> Iterator[int]:
        """Vertices in the order in which the official code tries them as search keys."""
        numbers = _numbers(mrg.product(mrg.transition(2 * 2**128), self._state))
        for _ in range(self.n_vertices):
            drawn = sum(
                next(numbers) * _PER_NUMBER + next(numbers) * _PER_PAIR_OF_NUMBERS for _ in range(2)
            )
            yield int(drawn * self.n_vertices) % self.n_vertices


# the literals of the official code, 1 / (2**31 - 1) and its square but for their last digits
_PER_NUMBER = 0.000000000465661287524579692
_PER_PAIR_OF_NUMBERS = 0.0000000000000000002168404346990492787


def _reference_state(seed_1: int, seed_2: int) -> np.ndarray:
    """Two numbers of 64 bits, spread over the five of a state, none of them 0."""
    low = 2**30 - 1
    return 1 + np.array(
        [
            seed_1 & low,
            seed_1 >> 30 & low,
            seed_2 & low,
            seed_2 >> 30 & low,
            (seed_2 >> 60 << 4) + (seed_1 >> 60),
        ],
        np.uint64,
    )


def _numbers(state: np.ndarray) -> Iterator[int]:
    """The numbers that follow a state."""
    recent = [int(number) for number in state]
    step = [int(weight) for weight in mrg.transition(1)[0]]
    while True:
        number = sum(a * z for a, z in zip(step, recent, strict=True)) % mrg.MODULUS
        recent = [number, *recent[:-1]]
        yield number


class UniformEdges(RandomEdges):
    """Edges with both ends uniform over all vertices."""

    def make(self, first: int, heads: np.ndarray, tails: np.ndarray) -> None:
        uniform_edges(first, heads, tails, self.scale, self._key, n_threads())


GENERATORS = {"fast": "kron", "reference": "kron-reference"}
"""Ways to a Kronecker graph."""


def kronecker(
    scale: int,
    edgefactor: int = 16,
    seed: int | None = None,
    *,
    generator: str = "fast",
    progress: Progress = silent,
) -> Graph:
    """A Kronecker graph by the parameters of Graph500, with permuted labels.

    Parameters
    ----------
    scale
        The graph has 2**scale vertices.
    edgefactor
        Input edges per vertex; duplicates and self-loops among them are dropped.
    seed
        The same seed gives the same graph, whatever the number of threads. None is 1, and 2 for the
        reference generator.
    generator
        ``"fast"``, or ``"reference"`` for the very edges of the Graph500 reference code, whose two
        seeds are ``seed`` and ``seed + 1``: officially 2 and 3.
    progress
        Told how far the work has come.

    Examples
    --------
    >>> import daskbfs
    >>> daskbfs.kronecker(scale=10).n_vertices
    1024
    """
    if generator not in GENERATORS:
        raise ValueError(
            f"generator {generator!r} is unknown: choose one of {', '.join(GENERATORS)}"
        )
    return _generate(GENERATORS[generator], scale, edgefactor, seed, progress)


def uniform(
    scale: int, edgefactor: int = 16, seed: int = 1, *, progress: Progress = silent
) -> Graph:
    """An Erdos-Renyi graph: every edge joins two vertices chosen uniformly.

    Parameters
    ----------
    scale, edgefactor, seed, progress
        As for :func:`kronecker`.

    Examples
    --------
    >>> import daskbfs
    >>> daskbfs.uniform(scale=10, edgefactor=4).directed
    False
    """
    return _generate("uniform", scale, edgefactor, seed, progress)


def _generate(
    kind: str, scale: int, edgefactor: int, seed: int | None, progress: Progress
) -> Graph:
    return build_graph(random_origin(kind, scale, edgefactor, seed), progress)


KINDS: dict[str, type[RandomEdges]] = {
    "kron": KroneckerEdges,
    "kron-reference": ReferenceEdges,
    "uniform": UniformEdges,
}


def random_origin(kind: str, scale: int, edgefactor: int, seed: int | None) -> Origin:
    """What it takes to build a random graph; no edge is made yet."""
    seed = KINDS[kind].default_seed if seed is None else seed
    check_numbers(scale, edgefactor, seed)
    return Origin(KINDS[kind](scale, edgefactor, seed), False, f"{kind}:{scale}")


def check_numbers(scale: int, edgefactor: int, seed: int) -> None:
    """Refuse graphs that cannot be numbered."""
    for name, value in (("scale", scale), ("edgefactor", edgefactor), ("seed", seed)):
        as_integer(value, name)
    if not 1 <= scale <= MAX_SCALE:
        raise ValueError(
            f"scale {scale} is out of range: 1 to {MAX_SCALE}, "
            "since vertices are numbered in 32 bits"
        )
    if edgefactor < 1:
        raise ValueError(f"edgefactor {edgefactor} is out of range: at least 1 edge per vertex")
    if not 0 <= seed < MAX_SEED:
        raise ValueError(f"seed {seed} is out of range: seeds are 0 to 2**63 - 1")


def _alias_table(quadrants: tuple[float, ...], levels: int) -> np.ndarray:
    """An alias table (Vose 1991) for the quadrants of some levels at once.

    An outcome's number holds the head's bits above the tail's. An entry holds a threshold above
    and an alias below; slots that need no alias name themselves.
    """
    n = 4**levels
    codes = np.arange(n)
    heads, tails = codes >> levels, codes & (2**levels - 1)
    weight = np.ones(n)
    for bit in range(levels):
        weight *= np.take(quadrants, 2 * (heads >> bit & 1) + (tails >> bit & 1))
    weight *= n
    threshold = np.full(n, 2**THRESHOLD_BITS - 1, np.int64)
    alias = codes.copy()
    small = [c for c in range(n) if weight[c] < 1]
    large = [c for c in range(n) if weight[c] >= 1]
    while small and large:
        poor, rich = small.pop(), large[-1]
        threshold[poor] = round(weight[poor] * 2**THRESHOLD_BITS)
        alias[poor] = rich
        weight[rich] -= 1 - weight[poor]
        if weight[rich] < 1:
            small.append(large.pop())
    table = np.zeros(GROUP_CODES, np.uint32)
    table[:n] = threshold << (32 - THRESHOLD_BITS) | alias
    return table
