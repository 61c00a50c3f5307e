"""The GPU's kernels in numba's CUDA simulator: a Python thread for each of the device's."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from daskbfs.bench.systems.baselines import gpu_csr, gpu_out_of_core
from daskbfs.kernels.gpu import bfs as gpu
from daskbfs.kernels.gpu import components as gpu_components
from daskbfs.kernels.gpu import pagerank as gpu_pagerank
from tests.support import ROOT


def simulated(graph):
    """What searches in the simulator report; a process of its own, since numba asks only once."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.support.simulated", graph],
        cwd=ROOT,
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.cudasim
@pytest.mark.parametrize(
    ("graph", "n_searches"),
    [
        ("star", 4),
        ("kronecker", 4),
        ("path", 4),
        ("directed", 7),
    ],
)
def test_simulated_searches_find_the_levels_of_the_oracle(graph, n_searches):
    assert simulated(graph)["searches"] == n_searches


@pytest.mark.cudasim
def test_all_kernels_run_in_the_simulator_streamed_and_over_two_devices_too():
    report = simulated("even")
    assert report["searches"] == 10
    modules = (gpu, gpu_pagerank, gpu_components, gpu_csr, gpu_out_of_core)
    kernels = [kernel for module in modules for kernel in module.KERNELS]
    names = [kernel.py_func.__name__ for kernel in (*kernels, gpu._look_behind_hubs)]
    assert report["kernels"] == sorted(names)
