"""Search trees that a caller claims, in the user's ids; and some of them, checked against edges.

A check against the rows of a graph cannot see an edge that its construction lost. So trees can also
be checked against the input edges: several in one pass, since making or reading these, and missing
the cache for each, is what takes the time.

The check works by vertex, not by row, so it shares nothing with the graph but the ids. Parents and
levels of 16 trees stand side by side, a cache line of parents to a vertex. An edge that was seen
replaces the parent by SEEN, so no second array is touched. Nothing in the loop branches on what it
has loaded: with branches, misses did not overlap, and a pass over one tree of scale 22 took 2.0 s
instead of 1.3, before loops were unrolled. ``python -m daskbfs.bench.validating --scale 22`` on
2 cores of an Intel Xeon: 0.7 to 1.0 s for one tree, 4.6 to 7 s for 16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskbfs.graph.build import indexed_blocks
from daskbfs.graph.edge_stream import EdgeStream
from daskbfs.graph.graph import Outline
from daskbfs.kernels import tree_checks as tree
from daskbfs.kernels.threads import n_threads
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.progress import Progress, silent

_LEVEL_TYPES = (np.uint8, np.uint16, np.int32)


class ValidationError(ValueError):
    """A search tree is wrong: ``check`` is the failed check, ``vertex`` the first offender.

    Examples
    --------
    >>> import daskbfs
    >>> graph = daskbfs.from_edges([(0, 1), (1, 2)])
    >>> try:
    ...     daskbfs.validate(graph, 0, [0, 0, 0])
    ... except daskbfs.ValidationError as error:
    ...     error.check, error.vertex
    (5, 2)
    """

    def __init__(self, check: int, vertex: int, message: str, source: int | None = None) -> None:
        super().__init__(f"check {check} fails at vertex {vertex}: {message}")
        self.check = check
        self.vertex = vertex
        self.source = source
        """Where the search started whose tree it is."""


RULES = {
    tree.ENDS_ELSEWHERE: (1, "its parent {parent} was not reached"),
    tree.LEVEL_OF_PARENT: (
        2,
        "its level {level} is not one more than its parent's, {parent_level}",
    ),
    tree.NOT_AN_EDGE: (5, "no edge from its parent {parent}"),
    tree.EDGE_SPANS_LEVELS: (3, "an edge goes from its level {level} to level {level} + 2 or more"),
    tree.EDGE_LEAVES_TREE: (4, "an edge leads from it to a vertex that was not reached"),
}
"""Check and message for each rule that a kernel knows."""


class Claim:
    """A tree that a caller claims: arrays aligned with the graph's vertices."""

    def __init__(self, graph: Outline, source: Any, parent: Any, level: Any = None) -> None:
        self.graph = graph
        self.source = graph.vertex(source, "source")
        self.source_index = graph.ids.index(self.source)
        self.parent = _align(graph, parent, "parent")
        self.level = None if level is None else _align(graph, level, "level")
        at_source = self.parent[self.source_index]
        if at_source != self.source:
            raise self.error(
                1, self.source_index, f"the source's parent is {at_source}, not itself"
            )
        if self.level is not None:
            self._check_levels(self.level)

    def error(self, check: int, index: int, message: str) -> ValidationError:
        """The failure of a check, at the vertex of an index."""
        vertex = int(self.graph.vertices[index])
        return ValidationError(check, vertex, message, self.source)

    def _check_levels(self, level: np.ndarray) -> None:
        """Levels fit parents, and can be levels at all."""
        if (bad := _first((self.parent < 0) != (level < 0))) is not None:
            raise self.error(2, bad, f"its parent is {self.parent[bad]} but its level {level[bad]}")
        too_far = (level < -1) | (level >= max(1, self.graph.n_vertices))
        if (bad := _first(too_far)) is not None:
            raise self.error(2, bad, f"no vertex of this graph can have the level {level[bad]}")
        if level[self.source_index] != 0:
            claimed = level[self.source_index]
            raise self.error(2, self.source_index, f"the source's level is {claimed}, not 0")

    def parent_indices(self) -> np.ndarray:
        """Parents as indices of vertices, NONE where unreached; refuses those that are none."""
        parent, n = self.parent, self.graph.n_vertices
        if self.graph.ids.values is None and parent.dtype == np.int32:
            index = parent.view(np.uint32)  # -1 becomes NONE
            bad = _first((index >= n) & (parent != -1))
        else:
            index = np.full(n, NONE, np.uint32)
            reached = parent >= 0
            found, known = _look_up(self.graph, parent[reached])
            index[reached] = found
            wrong = parent < -1
            wrong[reached] = ~known
            bad = _first(wrong)
        if bad is not None:
            raise self.error(5, bad, f"its parent {parent[bad]} has no edge to it")
        own = index == np.arange(n, dtype=np.uint32)
        own[self.source_index] = False
        if (bad := _first(own)) is not None:
            raise self.error(1, bad, "it is its own parent, but not the source")
        return index


def _look_up(graph: Outline, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Indices of vertices, and whether there are such vertices."""
    ids = graph.ids.values
    if ids is None:
        known = wanted < graph.n_vertices
        return np.where(known, wanted, 0), known
    index = np.minimum(np.searchsorted(ids, wanted), max(0, ids.size - 1))
    return index, ids[index] == wanted


def _first(bad: np.ndarray) -> int | None:
    """The first place that is true."""
    place = int(bad.argmax()) if bad.size else 0
    return place if bad.size and bad[place] else None


def _align(graph: Outline, values: Any, what: str) -> np.ndarray:
    """An array of integers, one for each vertex."""
    values = np.asarray(values)
    if values.size and values.dtype.kind not in "iu":
        raise TypeError(f"{what} has dtype {values.dtype}: it must hold integers")
    if values.shape != (graph.n_vertices,):
        raise ValueError(
            f"{what} has shape {values.shape}: it must have one entry for each of the "
            f"{graph.n_vertices} vertices"
        )
    return values


class Trees:
    """Trees of one graph side by side, to be checked against its input edges in one pass.

    There is room for one tree, or for as many as a cache line has parents. Takes about 5 bytes for
    each vertex and place.
    """

    def __init__(self, graph: Outline, *, alone: bool = False) -> None:
        self._graph = graph
        self._most = 1 if alone else tree.MOST_TREES
        shape = (graph.n_vertices, self._most)
        self._parents = np.empty(shape, np.uint32)
        self._levels = np.empty(shape, _LEVEL_TYPES[0])
        self._forget()

    def _forget(self) -> None:
        """Empty all places: a tree that reaches nothing breaks no rule."""
        self._parents.fill(NONE)
        self._levels.fill(self._unreached)
        self._last_levels: list[int | None] = []
        self._sources: list[int] = []

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def full(self) -> bool:
        """Whether no more trees can be added before a check."""
        return len(self) == self._most

    def add(
        self, source: int, parent: Any, level: Any = None, *, last_level: int | None = None
    ) -> None:
        """Make checks 1 and 2, which need no edges, and keep the tree for the others."""
        if self.full:
            raise ValueError(
                f"{self._most} trees are checked at once, and all are added: check these first"
            )
        claim = Claim(self._graph, source, parent, level)
        index = claim.parent_indices()
        at = np.full(index.size, tree.UNKNOWN, np.int32)
        offender = tree.levels_from_parents(index, at, n_threads())
        if offender != tree.FINE:
            raise claim.error(1, int(offender), "its chain of parents runs into a cycle")
        if claim.level is not None:
            at = claim.level.astype(np.int32)
        self._widen(int(at.max()))
        columns = (self._parents, self._levels, self._unreached, len(self))
        offence = tree.put_tree(index, at, *columns, n_threads())
        # the claim is let go: the caller that made its arrays may want to use them again
        self._sources.append(claim.source)
        self._last_levels.append(last_level)
        self._raise_if(offence)
        self._parents[claim.source_index, len(self) - 1] = tree.SEEN

    @property
    def _unreached(self) -> int:
        return int(np.iinfo(self._levels.dtype).max)

    def _widen(self, deepest: int) -> None:
        """Take a type that holds deeper levels."""
        if deepest + 1 < self._unreached:
            return
        before, unreached = self._levels, self._unreached
        wide = next(t for t in _LEVEL_TYPES if deepest + 1 < np.iinfo(t).max)
        self._levels = before.astype(wide)
        self._levels[before == unreached] = self._unreached

    def check(self, stream: EdgeStream, progress: Progress = silent) -> None:
        """Make checks 3 to 5 against all input edges, and forget the trees."""
        try:
            self._check(stream, progress)
        finally:
            self._forget()

    def _check(self, stream: EdgeStream, progress: Progress) -> None:
        unreached = self._unreached
        last_levels = np.full(self._most, unreached, np.int32)
        for t, last in enumerate(self._last_levels):
            last_levels[t] = unreached if last is None else min(last, unreached)
        lanes = (0,) if self._most == 1 else np.zeros(self._most)
        done = 0
        for heads, tails in indexed_blocks(self._graph, stream):
            offence = tree.check_edges(
                heads,
                tails,
                not self._graph.directed,
                self._parents,
                self._levels,
                last_levels,
                unreached,
                lanes,
                n_threads(),
            )
            self._raise_if(offence)
            done += heads.size
            progress("validating", done, self._graph.n_input_edges)
        self._raise_if(tree.check_seen(self._parents, n_threads()))

    def _raise_if(self, offence: int) -> None:
        """Raise what a kernel found, in words."""
        if offence == tree.FINE:
            return
        index, t, rule = tree.decode_tree_offence(offence)
        check, message = RULES[rule]
        vertices, above = self._graph.vertices, int(self._parents[index, t])
        facts = {"level": self._levels[index, t]}
        if above < vertices.size:  # the rules for which it is SEEN do not name it
            facts |= {"parent": vertices[above], "parent_level": self._levels[above, t]}
        text = message.format(**facts)
        raise ValidationError(check, int(vertices[index]), text, self._sources[t])
