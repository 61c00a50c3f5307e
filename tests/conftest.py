from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import dask
import hypothesis
import pytest

import daskbfs
import daskbfs.config

# without Dask, unless a test asks for a driver: distributed's test tools keep this configuration
dask.config.set({"daskbfs.driver": "direct"})

hypothesis.settings.register_profile("daskbfs", deadline=None, max_examples=60, derandomize=True)
hypothesis.settings.load_profile("daskbfs")

# dask-cuda pins a Dask of its own: make test-oldest has both
collect_ignore = [] if importlib.util.find_spec("dask_cuda") else ["cluster/test_dask_cuda.py"]

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data() -> Path:
    """Real graphs, with references computed elsewhere; not part of this repository."""
    if not (DATA / "reference.json").exists():
        pytest.skip(f"no real graphs in {DATA.parent.name}/{DATA.name} beside the checkout")
    return DATA


@pytest.fixture(scope="session")
def reference(data: Path) -> dict:
    return json.loads((data / "reference.json").read_text())


@pytest.fixture(scope="session")
def kron12() -> daskbfs.Graph:
    return daskbfs.kronecker(12)


@pytest.fixture
def on_the_cluster():
    """Searches run where their graph is placed, unless a test asks for a driver."""
    with dask.config.set({"daskbfs.driver": "auto"}):
        yield
