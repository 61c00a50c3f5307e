"""Streams of edges: what each tells of itself, and what a wrapper tells of the stream within."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from daskbfs.graph.edge_stream import (
    ArrayEdges,
    BothWays,
    DivisibleStream,
    PlainStream,
    Portion,
    Remembered,
)
from daskbfs.graph.generators import random_origin


@dataclass(frozen=True, slots=True)
class Edges(PlainStream):
    """Two edges, of which everything is unusual."""

    n_edges = 2
    n_vertices = 9
    first_id = 1
    slow = True
    seconds = 0.5

    def every(self, first, step):
        blocks = [(np.array([0]), np.array([1])), (np.array([2]), np.array([3]))]
        yield from blocks[first::step]

    def blocks(self):
        return self.every(0, 1)


def test_a_plain_stream_counts_from_0_and_is_quickly_read():
    stream = ArrayEdges(np.array([0, 1]), np.array([1, 2]))
    assert (stream.first_id, stream.slow, stream.seconds) == (0, False, None)
    assert not isinstance(stream, DivisibleStream)


@pytest.mark.parametrize("travels", [False, True])
def test_a_wrapper_is_like_the_stream_within(travels):
    for wrapper in (Portion(Edges(), 1, 2), BothWays(Edges()), Remembered(Edges(), 100)):
        one = pickle.loads(pickle.dumps(wrapper)) if travels else wrapper
        assert (one.n_vertices, one.first_id, one.seconds) == (9, 1, 0.5)
        assert one.slow is not isinstance(one, Remembered)
        assert one.n_edges == (4 if isinstance(one, BothWays) else 2)
    (block,) = Portion(Edges(), 1, 2).blocks()
    assert [ends.tolist() for ends in block] == [[2], [3]]


def test_random_edges_count_the_time_that_making_them_takes():
    stream = random_origin("kron", 10, 16, 1).stream
    assert stream.seconds == 0.0
    portion = Portion(stream, 0, 1)
    assert sum(heads.size for heads, _ in portion.blocks()) == stream.n_edges
    assert portion.seconds == stream.seconds > 0.0


def test_what_is_remembered_is_read_once():
    stream = Remembered(Edges(), 2**20)
    first, again = (
        [[ends.tolist() for ends in block] for block in stream.blocks()] for _ in range(2)
    )
    assert first == [[[0], [1]], [[2], [3]]]
    assert again == [[[0, 2], [1, 3]]]
