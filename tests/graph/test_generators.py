from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest

import daskbfs
from daskbfs.graph.generators import (
    GRAPH500,
    KroneckerEdges,
    ReferenceEdges,
    UniformEdges,
    _alias_table,
    _reference_state,
)
from daskbfs.kernels.generators import GROUP_CODES, THRESHOLD_BITS, scramble
from daskbfs.kernels.threads import threads


def edges_of(stream, first, n):
    heads, tails = np.empty(n, np.uint32), np.empty(n, np.uint32)
    stream.make(first, heads, tails)
    return heads, tails


@pytest.mark.parametrize("kind", [KroneckerEdges, ReferenceEdges, UniformEdges])
@pytest.mark.parametrize("scale", [1, 2, 3, 4, 5, 8, 13, 21, 31])
def test_any_block_can_be_made_without_the_others(kind, scale):
    stream = kind(scale, 16, seed=5)
    heads, tails = edges_of(stream, 0, 1000)
    for first, n in ((0, 1), (17, 100), (999, 1), (3, 997)):
        with threads(1):
            part = edges_of(kind(scale, 16, seed=5), first, n)
        assert np.array_equal(part[0], heads[first : first + n])
        assert np.array_equal(part[1], tails[first : first + n])
    assert max(heads.max(), tails.max()) < 2**scale


@pytest.mark.parametrize("make", [daskbfs.kronecker, daskbfs.uniform])
def test_a_graph_is_the_same_for_a_seed_whatever_the_threads(make):
    with threads(1):
        one = make(11, seed=7)
    two = make(11, seed=7)
    other = make(11, seed=8)
    assert np.array_equal(one.out.indices, two.out.indices)
    assert np.array_equal(one.order, two.order)
    assert not np.array_equal(one.out.indices, other.out.indices)


# What the official code (graph500-3.0.0, generator/make_graph.c, compiled with gcc 12) printed:
# the first edges, the last one, and the SHA-256 of all edges as its packed_edge
OFFICIAL = {
    (10, 16, 2): (
        [(299, 797), (684, 861), (185, 385), (428, 328), (490, 200), (976, 998)],
        (206, 55),
        "b6890e5051a7a45a3b22e4742f6c7b37dbdffb8608a05565bc237a0962f62b10",
    ),
    (20, 16, 2): (
        [(754405, 286754), (802479, 384927), (737253, 940441), (991768, 448150), (571230, 553219)],
        (465986, 734295),
        "074876b8321eda3e6cae41d432a6af1ae23148193fe024a932ab8cb4acc00769",
    ),
}


@pytest.mark.parametrize("parameters", OFFICIAL)
def test_the_reference_generator_has_the_edges_of_the_official_code(parameters):
    scale, edgefactor, seed = parameters
    first, last, digest = OFFICIAL[parameters]
    stream = ReferenceEdges(scale, edgefactor, seed)
    heads, tails = edges_of(stream, 0, len(first))
    assert list(zip(heads.tolist(), tails.tolist(), strict=True)) == first
    assert tuple(int(end[0]) for end in edges_of(stream, stream.n_edges - 1, 1)) == last
    sha = hashlib.sha256()
    for heads, tails in stream.blocks():
        packed = np.zeros((heads.size, 3), "<u4")
        packed[:, 0], packed[:, 1] = heads, tails
        sha.update(packed.tobytes())
    assert sha.hexdigest() == digest


def test_kronecker_graphs_of_both_generators():
    graph = daskbfs.kronecker(10, generator="reference")  # the official seed
    assert graph.row_of(299) == daskbfs.kronecker(10, 16, 2, generator="reference").row_of(299)
    assert graph.name == "kron-reference:10"
    assert graph.n_input_edges == 16 * 1024
    assert graph.row_of(299) is not None
    with pytest.raises(ValueError, match="generator 'slow' is unknown: choose one of fast, ref"):
        daskbfs.kronecker(10, generator="slow")


def test_reference_edges_have_numbers_of_their_own():
    with pytest.raises(ValueError, match="too many for the reference generator"):
        ReferenceEdges(31, 1024, 2)


def test_seeds_of_the_reference_generator_fill_its_state():
    state = _reference_state(12345678901234567, 9876543210987654321)
    # as make_mrg_seed has them
    low = 0x3FFFFFFF
    assert state.tolist() == [
        (12345678901234567 & low) + 1,
        ((12345678901234567 >> 30) & low) + 1,
        (9876543210987654321 & low) + 1,
        ((9876543210987654321 >> 30) & low) + 1,
        ((9876543210987654321 >> 60) << 4) + (12345678901234567 >> 60) + 1,
    ]


def test_search_keys_are_tried_in_the_order_of_the_official_code():
    keys = ReferenceEdges(20, 16, 2).key_candidates()
    assert list(itertools.islice(keys, 4)) == [469580, 219786, 225712, 129031]
    keys = ReferenceEdges(10, 16, 2).key_candidates()
    assert list(itertools.islice(keys, 4)) == [458, 214, 220, 126]
    assert len(list(ReferenceEdges(3, 1, 2).key_candidates())) == 8


def test_alias_tables_hold_the_graph500_probabilities():
    table = _alias_table(GRAPH500, 4)
    threshold, alias = table >> (32 - THRESHOLD_BITS), table % 2 ** (32 - THRESHOLD_BITS)
    chance = np.zeros(GROUP_CODES)
    for code in range(GROUP_CODES):
        kept = 1.0 if alias[code] == code else threshold[code] / 2**THRESHOLD_BITS
        chance[code] += kept / GROUP_CODES
        chance[alias[code]] += (1 - kept) / GROUP_CODES
    expected = np.ones(GROUP_CODES)
    for code in range(GROUP_CODES):
        for bit in range(4):
            expected[code] *= GRAPH500[2 * (code >> 4 + bit & 1) + (code >> bit & 1)]
    assert np.allclose(chance, expected, atol=2**-28)
    assert chance.sum() == pytest.approx(1)


def test_kronecker_edges_fall_into_quadrants_as_graph500_says():
    # with the label permutation undone, each level's quadrants have the given probabilities
    scale = 10
    stream = KroneckerEdges(scale, 16, seed=2)
    heads, tails = edges_of(stream, 0, 400_000)
    mask, shift = np.uint64(2**scale - 1), np.uint64(scale // 2)
    label = np.array([scramble(v, stream._odd, mask, shift) for v in range(2**scale)])
    original = np.argsort(label)
    u, v = original[heads], original[tails]
    for bit in range(scale):
        share = np.bincount(2 * (u >> bit & 1) + (v >> bit & 1), minlength=4) / u.size
        assert np.allclose(share, GRAPH500, atol=0.004), bit


@pytest.mark.parametrize("scale", [1, 2, 3, 7, 12])
def test_scrambling_is_one_to_one(scale):
    stream = KroneckerEdges(scale, 1, seed=9)
    mask, shift = np.uint64(2**scale - 1), np.uint64(max(1, scale // 2))
    labels = {int(scramble(v, stream._odd, mask, shift)) for v in range(2**scale)}
    assert labels == set(range(2**scale))


def test_uniform_ends_are_uniform_and_independent():
    heads, tails = edges_of(UniformEdges(6, 1, seed=4), 0, 400_000)
    joint = np.histogram2d(heads, tails, bins=64, range=[[0, 64]] * 2)[0]
    assert np.all(abs(joint / heads.size * 4096 - 1) < 0.6)
    assert np.allclose(joint.sum(0) / heads.size * 64, 1, atol=0.07)


def test_a_kronecker_graph_has_hubs_and_isolated_vertices():
    graph = daskbfs.kronecker(14)
    assert graph.n_input_edges == 16 * 2**14
    assert 0.4 * 2**14 < graph.n_rows < 0.9 * 2**14
    assert graph.out.degree(0) > 50 * graph.n_arcs / graph.n_rows / 16
    assert graph.generation_seconds > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0}, "scale 0 is out of range: 1 to 31"),
        ({"scale": 32}, "scale 32 is out of range: 1 to 31"),
        ({"scale": 5, "edgefactor": 0}, "edgefactor 0 is out of range"),
        ({"scale": 5, "seed": -1}, "seed -1 is out of range"),
    ],
)
def test_bad_sizes_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        daskbfs.kronecker(**options)


def test_sizes_must_be_integers():
    with pytest.raises(TypeError, match=r"scale 10.0 is a float: it must be an integer"):
        daskbfs.kronecker(10.0)
    with pytest.raises(TypeError, match=r"edgefactor 2.5 is a float"):
        daskbfs.uniform(10, edgefactor=2.5)


def test_a_scale_that_cannot_fit_is_refused_with_numbers():
    with pytest.raises(
        MemoryError,
        match=r"a graph of 2147483648 vertices .* needs about 3\d\d\.\d GiB and .* are free",
    ):
        daskbfs.kronecker(31)
