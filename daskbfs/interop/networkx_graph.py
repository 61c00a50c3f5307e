"""A graph of networkx as its backend has it here: nodes by their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np

from daskbfs.algorithms.bfs.api import bfs
from daskbfs.algorithms.components.api import connected_components as find_components
from daskbfs.algorithms.diameter.api import diameter as find_diameter
from daskbfs.graph.graph import Graph
from daskbfs.interop.convert import from_edges

NAME = "daskbfs"


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Neighbours of each node in networkx's order, nodes by their places in the graph."""

    indptr: np.ndarray
    indices: np.ndarray

    @classmethod
    def of(cls, rows: Mapping[Any, Mapping[Any, Any]], places: Mapping[Any, int]) -> Adjacency:
        """Of a dict of dicts."""
        indptr = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, rows.values()), np.int64, len(rows)), out=indptr[1:])
        tails = map(places.__getitem__, chain.from_iterable(rows.values()))
        return cls(indptr, np.fromiter(tails, np.uint32, int(indptr[-1])))

    @property
    def heads(self) -> np.ndarray:
        """The node that each neighbour is one of."""
        degree = np.diff(self.indptr)
        return np.repeat(np.arange(degree.size, dtype=np.uint32), degree)


@dataclass
class BackendGraph:
    """A graph as networkx's functions get it here."""

    nodes: list[Any]
    successors: Adjacency
    predecessors: Adjacency
    """Those of an undirected graph are its successors."""
    multigraph: bool
    parallel: bool
    """Whether some edge stands beside another."""
    weights: dict[str, bool]
    """Attributes of edges that were looked at: whether one is not 1."""
    attributes: dict[str, Any] = field(default_factory=dict)
    __networkx_backend__ = NAME

    def is_directed(self) -> bool:
        return self.predecessors is not self.successors

    def is_multigraph(self) -> bool:
        return self.multigraph

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, node: Any) -> bool:
        try:
            return node in self.places
        except TypeError:  # a list, say, can be no node
            return False

    @cached_property
    def places(self) -> dict[Any, int]:
        """The place of each node."""
        return {node: place for place, node in enumerate(self.nodes)}

    @property
    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Heads and tails by place; undirected edges once."""
        heads, tails = self.successors.heads, self.successors.indices
        if self.is_directed():
            return heads, tails
        once = heads <= tails
        return heads[once], tails[once]

    @cached_property
    def graph(self) -> Graph:
        """What is searched."""
        return from_edges(
            self.edges,
            directed=self.is_directed(),
            n_vertices=len(self),
            name=str(self.attributes.get("name") or "networkx"),
        )

    def place(self, node: Any, error: type[Exception], message: str) -> int:
        """The place of a node; networkx's error where there is none."""
        try:
            return self.places[node]
        except KeyError:
            raise error(message) from None

    @property
    def driver(self) -> str:
        """The driver of our searches, as networkx is configured."""
        driver: str = nx.config.backends[NAME].driver
        return driver

    def level(self, source: int, depth_limit: int | None = None) -> np.ndarray:
        """Distances from a node, -1 where it cannot reach."""
        found: np.ndarray = bfs(
            self.graph, source, driver=self.driver, depth_limit=depth_limit
        ).level
        return found

    @cached_property
    def component(self) -> np.ndarray:
        """The first node, by its place, of each node's component."""
        found: np.ndarray = find_components(self.graph, driver=self.driver).component
        return found

    def diameter(self) -> int:
        """That of an undirected graph all of whose nodes are connected."""
        found = find_diameter(self.graph, driver=self.driver).diameter
        assert found is not None  # searches were not limited
        return found

    def nodes_at(self, places: np.ndarray) -> list[Any]:
        """The nodes at some places."""
        nodes = self.nodes
        return [nodes[place] for place in places.tolist()]
