"""The graph: immutable rows in degree order, and the way between rows and the user's vertices.

Row r is the vertex of order r: order 0 has the highest degree, unless the graph's ``locality`` says
otherwise. Isolated vertices have no row.
Columns over rows are padded to whole words, with at least one padding row; ``order`` sends
isolated vertices to the first padding row, which no search ever reaches.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np

from daskbfs.graph.csr import Rows
from daskbfs.graph.edge_stream import EdgeStream
from daskbfs.graph.ordering import Locality
from daskbfs.graph.vertex_ids import Ids, as_integer
from daskbfs.kernels.buffers import Recycler

T = TypeVar("T")


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Outline:
    """What every process must know of a graph: its vertices, their order and degrees; not its rows.

    Takes 4 bytes for each vertex and some more for each row, however many edges there are.
    """

    name: str
    directed: bool
    ids: Ids
    order: np.ndarray
    original_index: np.ndarray
    """The vertex of each row, as an index; NONE for padding."""
    input_degree: np.ndarray
    """Input edges at each row, with duplicates, a self-loop twice (directed: out of it, once)."""
    n_input_edges: int
    locality: Locality
    """How vertices are numbered, and neighbours sorted."""
    construction_seconds: float = 0.0
    generation_seconds: float | None = None
    arrays: Recycler = field(default_factory=Recycler)
    """For results."""
    _derived: dict[type, Any] = field(default_factory=dict)

    def derive(self, kind: type[T], make: Callable[[Any], T]) -> T:
        """What other packages make of the graph, once of each kind; not copied with it.

        They make it of a copy, which shares all arrays: what is derived must not refer to the
        graph, since workers in this process may freeze a cycle, which is never collected then.
        """
        if kind not in self._derived:
            self._derived[kind] = make(copy.copy(self))
        derived: T = self._derived[kind]
        return derived

    def __getstate__(self) -> dict[str, Any]:
        names = [f.name for f in fields(self) if f.name != "_derived"]
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._derived = {}

    def lengths_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Arcs out of some rows, and into them; for undirected graphs both are one array."""
        raise AssertionError("only graphs with rows, here or elsewhere, have lengths")

    @property
    def all_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Those of all rows."""
        return self.lengths_of(np.arange(self.n_rows))

    @property
    def n_vertices(self) -> int:
        """Vertices, isolated ones included."""
        return self.ids.n_vertices

    @property
    def n_rows(self) -> int:
        """Vertices that are not isolated."""
        return self.input_degree.size

    @property
    def keeps_input_order(self) -> bool:
        """Whether each row has the number of its vertex."""
        return not self.locality.by_degree and self.n_rows == self.n_vertices

    @property
    def n_arcs(self) -> int:
        """Entries of all rows: each undirected edge twice."""
        return int(self.all_lengths[0].sum(dtype=np.int64))

    @property
    def n_edges(self) -> int:
        """Edges, without duplicates and self-loops; undirected ones once."""
        return self.n_arcs if self.directed else self.n_arcs // 2

    @property
    def nbytes(self) -> int:
        """Memory that it takes here."""
        columns = (self.order, self.original_index, self.input_degree, self.ids.values)
        return sum(column.nbytes for column in columns if column is not None)

    @property
    def vertices(self) -> np.ndarray:
        """The user's vertex ids, in the order in which results list them."""
        return np.arange(self.n_vertices) if self.ids.values is None else self.ids.values

    @property
    def parent_dtype(self) -> type[np.signedinteger]:
        """The smaller of int32 and int64 that holds every vertex id."""
        return np.int32 if self.ids.largest < 2**31 else np.int64

    def degree(self, row: int) -> int:
        """Number of neighbours of a row."""
        return int(self.lengths_of(np.array([row]))[0][0])

    def vertex(self, vertex: Any, role: str = "vertex") -> int:
        """A vertex id that the graph knows; an error that names its role otherwise."""
        vertex = as_integer(vertex, role, "vertex ids are integers")
        try:
            self.ids.index(vertex)
        except ValueError as error:
            raise ValueError(str(error).replace("vertex", role, 1)) from None
        return vertex

    def row_of(self, vertex: int) -> int | None:
        """Row of a vertex, None for an isolated one; ValueError for an unknown one."""
        row = int(self.order[self.ids.index(vertex)])
        return row if row < self.n_rows else None

    def random_sources(self, n: int, seed: int = 1) -> np.ndarray:
        """Up to ``n`` distinct vertices that are not isolated, the same for the same seed."""
        n = min(n, self.n_rows)
        rows = np.random.default_rng(seed).choice(self.n_rows, size=n, replace=False)
        indices = self.original_index[rows].astype(np.int64)
        return indices if self.ids.values is None else self.ids.values[indices]

    def __repr__(self) -> str:
        from daskbfs.machine.hardware import human_bytes

        kind = "directed" if self.directed else "undirected"
        return (
            f"Graph {self.name!r}: {self.n_vertices} vertices, {self.n_edges} edges, {kind}, "
            f"{human_bytes(self.nbytes)}"
        )


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class Graph(Outline):
    """A graph in memory, ready to be searched.

    Made by :func:`kronecker`, :func:`uniform`, :func:`read_graph`, :func:`from_edges`,
    :func:`from_scipy` or :func:`from_networkx`.

    Examples
    --------
    >>> import daskbfs
    >>> daskbfs.from_edges([(0, 1), (1, 2)])
    Graph 'edges': 3 vertices, 2 edges, undirected, 828 B
    """

    out: Rows
    into: Rows
    hub_vertex: np.ndarray = None  # type: ignore[assignment]
    """The vertex of each row's hub, as an index; None: to be looked up."""

    def __post_init__(self) -> None:
        if self.hub_vertex is None:
            self.hub_vertex = self.original_index[self.into.hub]

    def lengths_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = self.out.lengths(rows)
        return out, self.into.lengths(rows) if self.directed else out

    @property
    def all_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        out = np.diff(self.out.indptr)
        return out, np.diff(self.into.indptr) if self.directed else out

    @property
    def n_arcs(self) -> int:
        """Entries of all rows: each undirected edge twice."""
        return self.out.n_arcs

    @property
    def nbytes(self) -> int:
        """Memory that the graph takes."""
        rows = self.out.nbytes + (self.into.nbytes if self.directed else 0)
        return Outline.nbytes.fget(self) + self.hub_vertex.nbytes + rows  # type: ignore[attr-defined]


@dataclass(slots=True, eq=False, repr=False, kw_only=True)
class RemoteGraph(Outline):
    """A graph whose rows are, or will be, elsewhere: the edges can be had again from a stream."""

    stream: EdgeStream
    input_lengths: tuple[np.ndarray, np.ndarray]
    """Arcs out of each row, and into it, with duplicates; for undirected graphs one array."""
    lengths: tuple[np.ndarray, np.ndarray]
    """The same without duplicates, once the rows are filled."""
    filled: bool
    """Whether duplicates have been counted out."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes here, without its rows."""
        columns = {id(c): c.nbytes for c in (*self.lengths, *self.input_lengths)}
        return Outline.nbytes.fget(self) + sum(columns.values())  # type: ignore[attr-defined]

    def lengths_of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out, into = self.lengths
        mine = out[rows]
        return mine, into[rows] if self.directed else mine

    @property
    def all_lengths(self) -> tuple[np.ndarray, np.ndarray]:
        return self.lengths
