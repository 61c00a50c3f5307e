"""CPU workers and GPU workers in one cluster; the GPUs are emulated, the processes are real."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
import pytest

import daskbfs
from daskbfs.cluster.hybrid import choose_gpus, split_cores
from daskbfs.machine.devices import check_one_cuda, cuda_packages
from daskbfs.names import Device
from daskbfs.partition.placement import Placement, place, place_again
from tests.support.checks import check
from tests.support.crew import Crew, left_behind
from tests.support.samples import EMULATED_WORKER

pytestmark = pytest.mark.usefixtures("on_the_cluster")

CPU, GPU, EMULATED = Device


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("strategy", ["high", "low", "random", "auto"])
@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_cpu_and_emulated_gpus_find_the_right_tree(kron12, hybrid, strategy, driver):
    placed = daskbfs.distribute(kron12, hybrid, strategy=strategy)
    assert placed.placement.on(placed.devices()) == [CPU, EMULATED, EMULATED]
    for source in kron12.random_sources(2):
        result = daskbfs.bfs(placed, int(source), driver=driver)
        check(kron12, int(source), result)
        of_partition = {record.partition: record.device for record in result.levels}
        assert of_partition == {0: CPU, 1: EMULATED, 2: EMULATED}
        assert "emulated: no GPU's time" in repr(result)
    placed.release()


@pytest.mark.parametrize("directed", [False, True])
def test_directed_graphs_with_sparse_ids_and_more_partitions_than_workers(hybrid, directed):
    edges = np.random.default_rng(5).integers(0, 300, size=(900, 2)) * 10**12 + 7
    graph = daskbfs.from_edges(edges, directed=directed)
    placed = daskbfs.distribute(graph, hybrid, n_partitions=5, cpu_share=0.3)
    for source in graph.random_sources(2):
        check(graph, int(source), daskbfs.bfs(placed, int(source)))
    placed.release()


def test_the_cpu_gets_its_share_and_high_the_hubs(kron12, hybrid):
    placed = daskbfs.distribute(kron12, hybrid, strategy="high", cpu_share=0.6)
    arcs = [int(kron12.out.lengths(rows).sum()) for rows in placed.layout.rows]
    assert arcs[0] / sum(arcs) == pytest.approx(0.6, abs=0.05)
    assert placed.layout.rows[0].max() < min(rows.min() for rows in placed.layout.rows[1:])
    placed.release()
    with pytest.raises(ValueError, match=r"cpu_share 1\.5 is out of range"):
        daskbfs.distribute(kron12, hybrid, cpu_share=1.5)


def test_unlike_workers_build_a_graph_together(hybrid):
    placed = daskbfs.distribute("kron:12", hybrid, strategy="high")
    source = int(placed.random_sources(1)[0])
    result = daskbfs.bfs(placed, source)
    daskbfs.validate(placed.graph, source, result.parent)
    check(daskbfs.kronecker(12), source, result)
    placed.release()


@pytest.fixture
def crew(tmp_path, request):
    limit = getattr(request, "param", 700_000)
    crew = Crew(1, tmp_path, {"DASK_DASKBFS__GPU__MEMORY_LIMIT": str(limit)})
    yield crew
    crew.close()


def searched_with_two_gpus(crew):
    """A graph, what was distributed of it, and a source; all is well so far."""
    graph = daskbfs.kronecker(12)
    crew.start_worker(*EMULATED_WORKER)
    crew.start_worker(*EMULATED_WORKER)
    crew.client.wait_for_workers(3, timeout=60)
    placed = daskbfs.distribute(graph, crew.client, cpu_share=0.4)
    source = int(graph.random_sources(1)[0])
    check(graph, source, daskbfs.bfs(placed, source))
    return graph, placed, source


@pytest.mark.slow
def test_a_gpu_worker_is_lost_and_its_partition_moves_to_the_other_then_to_the_cpu(crew):
    graph, placed, source = searched_with_two_gpus(crew)
    for left in (1, 0):
        kinds = placed.devices()
        victim = next(worker for worker, kind in kinds.items() if kind is EMULATED)
        os.kill(crew.pids()[victim], signal.SIGKILL)
        result = daskbfs.bfs(placed, source)
        check(graph, source, result)
        assert victim not in placed.where()
        assert [*placed.devices().values()].count(EMULATED) == left
        expected = [CPU, EMULATED, EMULATED] if left else [CPU] * 3
        assert placed.placement.on(placed.devices()) == expected
    del result
    assert left_behind(crew.client, placed.placed_partitions) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("crew", [250_000], indirect=True)
def test_a_partition_that_does_not_fit_the_gpu_that_is_left_moves_to_the_cpu(crew):
    graph, placed, source = searched_with_two_gpus(crew)
    os.kill(crew.pids()[placed.placement.holders[2]], signal.SIGKILL)
    check(graph, source, daskbfs.bfs(placed, source))
    assert placed.placement.on(placed.devices()) == [CPU, EMULATED, CPU]


@pytest.mark.slow
def test_a_gpu_that_joins_is_used_when_the_graph_is_balanced_again(crew):
    graph = daskbfs.kronecker(12)
    placed = daskbfs.distribute(graph, crew.client)
    assert "all partitions are on CPU workers" in placed.why
    crew.start_worker(*EMULATED_WORKER)
    crew.client.wait_for_workers(2, timeout=60)
    placed.rebalance()
    fresh = daskbfs.distribute(graph, crew.client)
    assert placed.placement.on(placed.devices()) == [CPU, EMULATED]
    assert (placed.strategy, placed.why) == (fresh.strategy, fresh.why)
    for mine, its in zip(placed.layout.rows, fresh.layout.rows, strict=True):
        assert np.array_equal(mine, its)
    source = int(graph.random_sources(1)[0])
    check(graph, source, daskbfs.bfs(placed, source))


@pytest.mark.slow
def test_accelerators_get_what_fits_them_and_the_rest_is_streamed(crew):
    graph = daskbfs.kronecker(13)
    crew.start_worker(*EMULATED_WORKER)
    crew.client.wait_for_workers(2, timeout=60)
    fitting = daskbfs.distribute(graph, crew.client)
    source = int(graph.random_sources(1)[0])
    check(graph, source, daskbfs.bfs(fitting, source))
    mostly = daskbfs.distribute(graph, crew.client, cpu_share=0.1)
    check(graph, source, daskbfs.bfs(mostly, source))

    def streamed(partition):
        return partition.out.indices.streamed

    told = [
        crew.client.submit(streamed, placed.placed_partitions.partitions[1], pure=False).result()
        for placed in (fitting, mostly)
    ]
    assert told == [False, True]


@pytest.mark.slow
@pytest.mark.oldest
def test_a_worker_that_promises_a_gpu_without_one_is_told(crew):
    crew.start_worker("--resources", "GPU=1")
    crew.client.wait_for_workers(2, timeout=60)
    with pytest.raises(RuntimeError, match=r"worker tcp://.*device 'gpu' (needs|is not here)"):
        daskbfs.distribute(daskbfs.kronecker(8), crew.client)


def test_gpus_that_are_not_there_are_told():
    for gpus in ("all", 1, [0]):
        with pytest.raises(RuntimeError, match="no GPU can be seen"):
            daskbfs.HybridCluster(gpus=gpus)
    assert choose_gpus(0) == []
    with pytest.raises(ValueError, match="has no workers"):
        daskbfs.HybridCluster(0, gpus=0)


def test_two_versions_of_cuda_are_told(tmp_path, monkeypatch):
    for name, version in (("cupy-cuda12x", "14.0"), ("cupy-cuda13x", "14.0")):
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert cuda_packages() == {12: ["cupy-cuda12x"], 13: ["cupy-cuda13x"]}
    with pytest.raises(RuntimeError, match=r"CUDA 12: cupy-cuda12x; CUDA 13: cupy-cuda13x"):
        check_one_cuda()


def test_gpus_have_cores_of_their_own_near_them():
    assert split_cores(range(8), [[0, 1, 2, 3], [4, 5, 6, 7]]) == ([0, 1, 2, 4, 5, 6], [[3], [7]])
    assert split_cores(range(4), [[0, 1], [0, 1], [0, 1]]) == ([2], [[1], [0], [3]])
    assert split_cores(range(2), [[0], [1]]) == (None, [None, None])
    assert split_cores(range(2), []) == (None, [])


def test_partitions_are_dealt_to_cpus_first():
    devices = {"b": CPU, "a": EMULATED, "c": CPU}
    assert place(3, devices).holders == ("b", "c", "a")
    assert place(5, devices).holders == ("b", "c", "b", "c", "a")
    assert place(6, devices).on(devices) == [CPU] * 4 + [EMULATED] * 2


def test_partitions_stay_with_their_kind_of_device():
    before = Placement(("cpu", "gpu", "gone"))
    devices = {"cpu": CPU, "gpu": EMULATED}
    wanted = [CPU, EMULATED, EMULATED]
    assert place_again(before, devices, [9, 1, 1], wanted).holders == ("cpu", "gpu", "gpu")
    assert place_again(before, {"cpu": CPU}, [9, 1, 1], wanted).holders == ("cpu",) * 3
