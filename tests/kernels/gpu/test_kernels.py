"""The GPU's kernels, emulated: their own device code, run on the host, against the oracle."""

from __future__ import annotations

import gc
import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import daskbfs
from daskbfs.algorithms.bfs.api import _program
from daskbfs.algorithms.bfs.program import BFS
from daskbfs.algorithms.bfs.warmup import warm_kernels
from daskbfs.algorithms.pagerank.api import _program as rank_program
from daskbfs.cluster.threads import Share
from daskbfs.engine.levels import run_as_shared
from daskbfs.engine.superstep import run_in_place
from daskbfs.kernels.cpu import bfs as cpu
from daskbfs.kernels.cpu import components, pagerank
from daskbfs.kernels.gpu import bfs as gpu
from daskbfs.kernels.gpu import components as gpu_components
from daskbfs.kernels.gpu import emulator
from daskbfs.kernels.gpu import pagerank as gpu_pagerank
from daskbfs.kernels.gpu.arcs import Arcs, largest_word
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.machine.devices import check_device
from daskbfs.names import Device
from daskbfs.partition.layout import lay_out
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import cut
from tests.support import naive, strict_cupy
from tests.support.checks import check_against_oracle
from tests.support.gpu_checks import check_bitmap_and_queue, check_tree
from tests.support.in_process import CPU, EMULATED, held, ranked, search

SHARED = (
    "top_down", "bottom_up", "queue_to_bitmap", "bitmap_to_queue", "enter", "enter_ids", "adopt",
    "forget_unvisited", "bottom_up_cached",
)  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_kernels_have_the_same_arguments_on_both_devices(name):
    assert [*inspect.signature(getattr(cpu, name)).parameters] == [
        *inspect.signature(getattr(gpu, name)).parameters
    ]


@pytest.mark.parametrize("name", ["begin_ranks", "pull_ranks"])
def test_kernels_for_ranks_have_the_same_arguments_on_both_devices(name):
    assert [*inspect.signature(getattr(pagerank, name)).parameters] == [
        *inspect.signature(getattr(gpu_pagerank, name)).parameters
    ]


@pytest.mark.parametrize("name", ["hook_rows", "compress_rows", "link_rows"])
def test_kernels_for_components_have_the_same_arguments_on_both_devices(name):
    assert [*inspect.signature(getattr(components, name)).parameters] == [
        *inspect.signature(getattr(gpu_components, name)).parameters
    ]


@pytest.mark.parametrize("direction", ["beamer", "top_down", "bottom_up", "coordinator"])
@pytest.mark.parametrize(
    ("devices", "strategy"),
    [
        ([EMULATED], "random"),
        ([CPU, EMULATED], "high"),
        ([CPU, EMULATED], "low"),
        ([CPU, EMULATED, EMULATED], "random"),
        ([EMULATED, EMULATED], "high"),
    ],
)
def test_emulated_devices_find_the_trees_of_the_cpu(kron12, devices, strategy, direction):
    for source in kron12.random_sources(2):
        parent, records, _ = search(
            kron12, int(source), devices, strategy=strategy, direction=direction
        )
        check_tree(kron12, int(source), parent)
        assert [r.device for r in records[: len(devices)]] == devices


@pytest.mark.parametrize("direction", ["beamer", "top_down", "bottom_up"])
def test_scale_16_on_an_emulated_device(direction):
    graph = daskbfs.kronecker(16)
    source = int(graph.random_sources(1)[0])
    parent, records, _ = search(graph, source, [EMULATED], direction=direction)
    check_tree(graph, source, parent)
    assert sum(record.edges_examined for record in records) > 1000


@pytest.mark.parametrize("directed", [False, True])
def test_random_graphs_against_the_oracle(directed):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        edges = rng.integers(0, 400, size=(700, 2)) * 10**11
        graph = daskbfs.from_edges(edges, directed=directed)
        source = int(graph.random_sources(1, seed)[0])
        devices = [[EMULATED], [CPU, EMULATED], [EMULATED] * 3][seed % 3]
        direction = ["beamer", "top_down", "bottom_up"][seed % 3]
        parent, _, _ = search(graph, source, devices, direction=direction)
        result = daskbfs.bfs(graph, source, driver="direct")
        check_against_oracle(graph, edges, source, result)
        check_tree(graph, source, parent)
        expected = naive.levels(edges, source, directed)
        assert {int(v) for v in graph.vertices[parent >= 0]} == set(expected)


@pytest.mark.parametrize("direction", ["beamer", "top_down", "bottom_up"])
@pytest.mark.parametrize(
    ("devices", "limit"),
    [([EMULATED], 480_000), ([CPU, EMULATED], 250_000), ([EMULATED] * 2, 560_000)],
)
def test_partitions_larger_than_their_device_are_streamed(kron12, devices, limit, direction):
    source = int(kron12.random_sources(1)[0])
    parent, _, partitions = search(kron12, source, devices, limit=limit, direction=direction)
    check_tree(kron12, source, parent)
    arcs = partitions[-1].out.indices
    assert arcs.streamed
    assert len(arcs.blocks) > 2
    assert arcs.device_bytes < arcs.nbytes


def test_two_searches_at_once_do_not_share_buffers(kron12):
    sources = [int(v) for v in kron12.random_sources(12)]
    layout = lay_out(kron12, 1)
    partition = cut(kron12, layout, 0, number(kron12, layout).on(EMULATED, 480_000))
    assert partition.out.indices.streamed
    place = layout.global_id[kron12.order]

    def found(source):
        outcome = run_in_place(_program(kron12, source, place), [partition], Share(1))
        return source, outcome.parts[0].values[place]

    with ThreadPoolExecutor(4) as pool:
        for source, parents in pool.map(found, sources):
            parent = np.where(parents == NONE, -1, parents.astype(np.int64))
            parent[source] = source
            check_tree(kron12, source, parent)


@pytest.mark.parametrize("n_partitions", [1, 2, 4])
@pytest.mark.parametrize("limit", [800_000, 1_200_000, 2_000_000])
def test_rows_and_states_keep_to_the_limit(kron12, n_partitions, limit):
    layout = lay_out(kron12, n_partitions, n_cpu=0, cpu_share=0.0)
    numbering = number(kron12, layout).on(EMULATED, limit)
    try:
        partitions = [cut(kron12, layout, p, numbering) for p in range(n_partitions)]
    except MemoryError:
        assert n_partitions == 4  # four states are too much for the smaller ones
        assert limit < 2_000_000
        return
    memory = numbering.memory
    states = sum(BFS(0, 1, None).open_state(partition).nbytes for partition in partitions)
    held = sum(a.nbytes for p in partitions for a in (p.out.indptr, p.out.hub, p.hub_vertex))
    held += sum(p.out.indices.device_bytes for p in partitions) + numbering.__sizeof__()
    assert held + states <= memory.used_bytes <= limit
    del partitions
    gc.collect()
    assert memory.used_bytes == numbering.__sizeof__()


def test_buffers_are_as_large_as_the_longest_rows_need(kron12):
    indptr = np.arange(0, 65 * 2000, 2000, dtype=np.uint32)
    assert largest_word(indptr) == 32 * 2000
    assert largest_word(np.array([0, 3, 7], np.uint32)) == 7
    arcs = Arcs(indptr, np.zeros(int(indptr[-1]), np.uint32), np.empty(0), 32 * 2000)
    assert max(b.last_arc - b.first_arc for b in arcs.blocks) == 32 * 2000


def test_both_directions_of_a_directed_graph_are_streamed():
    edges = np.random.default_rng(2).integers(0, 4000, size=(200_000, 2))
    graph = daskbfs.from_edges(edges, directed=True)
    source = int(graph.random_sources(1)[0])
    for direction in ("top_down", "bottom_up"):
        options = {"limit": 800_000, "direction": direction}
        parent, _, (partition,) = search(graph, source, [EMULATED], **options)
        check_tree(graph, source, parent)
        assert partition.out.indices.streamed
        assert partition.into.indices.streamed


def test_only_blocks_with_work_are_streamed(kron12):
    rows = kron12.out
    arcs = Arcs(rows.indptr, rows.indices, np.empty(0), buffer_arcs=rows.n_arcs // 8)
    queue = np.array([rows.n_rows - 2, rows.n_rows - 1], np.uint32)
    (only,) = arcs.with_rows_of(queue)
    assert only[0].spans == ((0, 2, 1),)
    assert np.array_equal(only[1][-3:], rows.indices[-3:])
    visited = np.full(rows.hub.size // 64, ~np.uint64(0))
    assert list(arcs.with_work(visited, np.zeros_like(visited))) == []
    visited[-1] ^= np.uint64(1)
    assert len(list(arcs.with_work(visited, np.zeros_like(visited)))) == 1


def test_what_does_not_fit_at_all_is_refused_with_numbers(kron12):
    with pytest.raises(MemoryError, match=r"rows does not fit a device of 97.7 KiB.*larger share"):
        search(kron12, int(kron12.random_sources(1)[0]), [EMULATED], limit=100_000)


def test_long_rows_have_many_lanes_and_short_rows_one():
    indptr = np.array([0, 1000, 1300, 1400, 1500, 1510, 1511], np.int64)
    arcs = Arcs(indptr, np.zeros(1511, np.uint32), np.empty(0))
    assert arcs.blocks[0].spans == ((0, 2, 32), (2, 4, 8), (4, 6, 1))


@pytest.mark.parametrize("n_words", [1, 7, 256, 257, 1000])
def test_bitmaps_become_queues_and_bitmaps_again(n_words):
    check_bitmap_and_queue(n_words)


def test_blocks_shared_by_two_threads_find_the_same_levels(kron12):
    emulator.set_host_threads(2)
    try:
        for source in kron12.random_sources(3):
            parent, _, _ = search(kron12, int(source), [EMULATED])
            check_tree(kron12, int(source), parent)
    finally:
        emulator.set_host_threads(1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shares", [1, None])
@pytest.mark.parametrize(("most_lanes", "n_blocks"), [(2**20, 1), (64, 1), (2**20, 4)])
def test_rows_pull_the_same_ranks_on_both_devices(monkeypatch, dtype, shares, most_lanes, n_blocks):
    monkeypatch.setattr(gpu_pagerank, "MOST_LANES", most_lanes)
    rng = np.random.default_rng(3)
    lengths = np.sort(rng.integers(0, 40, 300) * rng.integers(0, 15, 300))[::-1]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices = rng.integers(0, 1000, indptr[-1]).astype(np.uint32)
    buffer_arcs = None if n_blocks == 1 else largest_word(indptr)
    arcs = Arcs(indptr, indices, np.empty(0), buffer_arcs)
    assert len(arcs.blocks) == n_blocks
    assert {width for b in arcs.blocks for _, _, width in b.spans} == {1, 8, 32}
    out_degree = rng.integers(0, 5, 300).astype(np.uint32)
    contribution, share = (rng.random(1000) / 1e5).astype(dtype), rng.random(shares or 300) / 300
    here, there = ([np.empty(320), np.empty(320, dtype)] for _ in range(2))
    lost = pagerank.begin_ranks(out_degree, share, *here)
    assert gpu_pagerank.begin_ranks(out_degree, share, *there) == pytest.approx(lost, rel=1e-14)
    given = out_degree, contribution, 0.85, 0.4, share
    expected = pagerank.pull_ranks(indptr, indices, *given, *here, 1)
    found = gpu_pagerank.pull_ranks(indptr, arcs, *given, *there, 1)
    assert found == pytest.approx(expected, rel=1e-12)
    for mine, its in zip(there, here, strict=True):
        assert np.allclose(mine[:300], its[:300], rtol=1e-6 if mine.dtype == np.float32 else 1e-12)


def test_ranks_at_scale_16_on_an_emulated_device():
    graph = daskbfs.kronecker(16)
    result, _ = ranked(graph, [EMULATED], iterations=3, tolerance=None)
    expected = daskbfs.pagerank(graph, iterations=3, driver="direct")
    assert np.allclose(result.rank, expected.rank, rtol=1e-6, atol=0)


def test_ranks_are_the_same_to_the_bit_in_any_order_of_threads(kron12):
    first, _ = ranked(kron12, [EMULATED], iterations=5, tolerance=None)
    emulator.set_host_threads(2)
    try:
        again, _ = ranked(kron12, [EMULATED], iterations=5, tolerance=None)
    finally:
        emulator.set_host_threads(1)
    assert np.array_equal(first.rank, again.rank)
    assert first.changed == again.changed


@pytest.mark.parametrize(
    ("devices", "limit"),
    [
        ([Device.GPU], None),
        ([Device.GPU], 480_000),
        ([CPU, Device.GPU], None),
        ([Device.GPU] * 2, 560_000),
    ],
)
@pytest.mark.parametrize("wishes", [None, {0: 1.0, 5: 2.0}])
def test_ranks_do_not_mix_arrays_of_host_and_device(monkeypatch, kron12, devices, limit, wishes):
    strict_cupy.install(monkeypatch)
    result, partitions = ranked(kron12, devices, limit=limit, wishes=wishes)
    expected = daskbfs.pagerank(kron12, tolerance=1e-11, personalization=wishes, driver="direct")
    assert np.allclose(result.rank, expected.rank, rtol=0, atol=1e-9)
    assert type(result.rank) is np.ndarray
    assert {record.device for record in result.levels} == set(devices)
    assert partitions[-1].into.indices.streamed == (limit is not None)


@pytest.mark.parametrize("n_partitions", [1, 3])
def test_a_state_for_ranks_takes_no_more_than_one_for_a_search(kron12, n_partitions):
    partitions, place = held(kron12, [EMULATED] * n_partitions)
    program = rank_program(kron12, None, 0.85, None, 20, place)
    for partition in partitions:
        arriving = 0 if n_partitions == 1 else 4 * place.max()
        state = partition.memory._state_bytes(partition.out)
        assert program.open_state(partition).nbytes + arriving <= state


@pytest.mark.parametrize("direction", ["beamer", "top_down", "bottom_up"])
@pytest.mark.parametrize(
    ("devices", "limit"),
    [
        ([Device.GPU], None),
        ([Device.GPU], 480_000),
        ([CPU, Device.GPU], None),
        ([CPU, Device.GPU], 250_000),
        ([Device.GPU] * 2, 560_000),
    ],
)
def test_arrays_of_host_and_device_do_not_mix(monkeypatch, kron12, devices, limit, direction):
    strict_cupy.install(monkeypatch)
    source = int(kron12.random_sources(1)[0])
    parent, records, partitions = search(kron12, source, devices, limit=limit, direction=direction)
    check_tree(kron12, source, parent)
    assert {record.device for record in records} == set(devices)
    assert partitions[-1].out.indices.streamed == (limit is not None)
    assert partitions[-1].__sizeof__() == partitions[-1].out.indices.host_bytes


@pytest.mark.parametrize("direction", ["beamer", "top_down", "bottom_up"])
@pytest.mark.parametrize("devices", [[CPU, Device.GPU], [Device.GPU] * 2])
def test_arrays_of_host_and_device_do_not_mix_over_shared_memory(
    monkeypatch, kron12, devices, direction
):
    strict_cupy.install(monkeypatch)
    source = int(kron12.random_sources(1)[0])
    partitions, place = held(kron12, devices)
    program = _program(kron12, source, place, direction=direction)
    parts = run_as_shared(program, partitions, Share(2))
    found = np.concatenate([part.values for part in parts])
    assert type(found) is np.ndarray
    parent = found[place].astype(np.int64)
    parent[(found[place] == NONE) | (kron12.order == kron12.n_rows)] = -1
    check_tree(kron12, source, parent)


def test_kernels_for_a_gpu_are_made_ready_there(monkeypatch):
    strict_cupy.install(monkeypatch)
    warm_kernels.__wrapped__("uint32", 2, Device.GPU)
    with pytest.raises(AssertionError):
        gpu.bitmap_to_queue(np.zeros(4, np.uint64).view(strict_cupy.ndarray), np.zeros(256), 1)


def test_a_gpu_that_is_not_there_is_told():
    with pytest.raises(RuntimeError, match=r"device 'gpu' (needs cupy: pip|is not here)"):
        check_device(Device.GPU)
    check_device(EMULATED)


@pytest.mark.gpu
@pytest.mark.parametrize("devices", [[Device.GPU], [CPU, Device.GPU]])
@pytest.mark.parametrize("limit", [None, 400_000])
def test_a_real_gpu_finds_the_trees_of_the_cpu(kron12, devices, limit):
    try:
        check_device(Device.GPU)
    except RuntimeError as error:
        pytest.skip(f"no GPU: {error}")
    for source in kron12.random_sources(3):
        parent, records, _ = search(kron12, int(source), devices, limit=limit)
        check_tree(kron12, int(source), parent)
        assert Device.GPU in {record.device for record in records}
    result, _ = ranked(kron12, devices, limit=limit)
    expected = daskbfs.pagerank(kron12, tolerance=1e-11, driver="direct")
    assert np.allclose(result.rank, expected.rank, rtol=0, atol=1e-9)
