"""dask-cuda's own workers, on GPUs that a stand-in for NVML invents; kernels are emulated."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import daskbfs
from daskbfs.cluster.hybrid import choose_gpus
from tests.support import ROOT
from tests.support.crew import Crew

HERE = ROOT / "tests" / "support"
INVENTED = {
    "PYTHONPATH": os.pathsep.join([str(HERE / "standin"), str(ROOT)]),
    "INVENTED_GPUS": "2",
    "DASK_CUDA_TEST_SINGLE_GPU": "1",  # dask-cuda then leaves the devices' memory alone
    "DASK_DASKBFS__GPU__EMULATE": "true",
}


def run(*words):
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.support.invented_gpus", *words],
        env=os.environ | INVENTED,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_workers_of_a_local_cuda_cluster_are_gpu_workers():
    done = run("local")
    assert done.returncode == 0, done.stderr
    assert "valid gpu-emulated gpu-emulated" in done.stdout


def test_a_hybrid_cluster_starts_a_worker_for_each_gpu():
    done = run("hybrid")
    assert done.returncode == 0, done.stderr
    assert "valid cpu gpu-emulated gpu-emulated" in done.stdout
    assert done.stdout.count("{'GPU': 1") == 2


def test_dask_cuda_workers_from_the_shell_join_cpu_workers(tmp_path):
    crew = Crew(1, tmp_path)
    worker = subprocess.Popen(
        [
            *(sys.executable, "-W", "ignore", "-m", "dask", "cuda", "worker"),
            *("--scheduler-file", str(crew.file), "--resources", "GPU=1", "--no-dashboard"),
        ],
        env=os.environ | INVENTED | {"INVENTED_GPUS": "1", "CUDA_VISIBLE_DEVICES": "0"},
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    try:
        crew.client.wait_for_workers(2, timeout=60)
        graph = daskbfs.kronecker(6)
        placed = daskbfs.distribute(graph, crew.client)
        assert sorted(map(str, placed.devices().values())) == ["cpu", "gpu-emulated"]
        source = int(graph.random_sources(1)[0])
        result = daskbfs.bfs(placed, source, driver="waves")
        daskbfs.validate(graph, source, result.parent, result.level)
    finally:
        worker.terminate()
        crew.close()
        worker.wait(30)


def test_gpus_that_the_machine_does_not_have_are_told(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE / "standin"))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    assert choose_gpus("all") == [0, 1]
    assert choose_gpus([1]) == [1]
    for gpus in (3, [2], [-1]):
        with pytest.raises(ValueError, match=r"are not there: GPUs to be seen here are \[0, 1\]"):
            choose_gpus(gpus)
    with pytest.raises(ValueError, match="'some' cannot be read"):
        choose_gpus("some")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert choose_gpus("all") == choose_gpus(1) == [1]
    with pytest.raises(ValueError, match=r"are not there: GPUs to be seen here are \[1\]"):
        choose_gpus([0])
