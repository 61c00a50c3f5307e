from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path

import dask
import hypothesis
import pytest
from distributed import Client

import daskbfs
import daskbfs.config
from daskbfs.cluster.tuning import tune
from daskbfs.engine.attempts import Distributions
from tests.support.crew import Crew, left_behind
from tests.support.exchange import EXCHANGES, exchange_by

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

# without Dask, unless a test asks for a driver: distributed's test tools keep this configuration
dask.config.set({"daskbfs.driver": "direct"})

hypothesis.settings.register_profile("daskbfs", deadline=None, max_examples=60, derandomize=True)
hypothesis.settings.load_profile("daskbfs")

# dask-cuda pins a Dask of its own: make test-oldest has both
collect_ignore = [] if importlib.util.find_spec("dask_cuda") else ["campaigns/test_dask_cuda.py"]


def pytest_sessionstart(session):
    """Compile what most tests need, once: otherwise both processes of pytest would."""
    if getattr(session.config.option, "numprocesses", None):
        words = [sys.executable, "-m", "daskbfs.cli.compile_ahead"]
        parts = (("1", "search", "validation", "trees"), ("2", "search", "pagerank", "components"))
        for process in [subprocess.Popen([*words, *kinds]) for kinds in parts]:
            assert process.wait() == 0


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


@pytest.fixture(scope="session")
def kron14() -> daskbfs.Graph:
    return daskbfs.kronecker(14)


@pytest.fixture
def on_the_cluster():
    """Searches run where their graph is placed, unless a test asks for a driver."""
    with dask.config.set({"daskbfs.driver": "auto"}):
        yield


@pytest.fixture(params=EXCHANGES)
def exchange(request):
    """Each way to exchange levels between workers of one host; ask for it before any graph."""
    with exchange_by(request.param):
        yield request.param


# Clusters that all tests of a process share: a test starts one of its own only to stop its workers,
# or to start them in another way.


def _share(client, graph):
    """The client of a shared cluster, which must be as empty after a test as before."""
    with client.as_current():
        yield client
    graph.derive(Distributions, Distributions).by_client.pop(client.id, None)  # it lives on
    assert left_behind(client) == ([], []), "the test left keys or mail on a shared cluster"


@contextlib.contextmanager
def _client_of(cluster):
    with cluster, Client(cluster, set_as_default=False) as client, tune(client):
        yield client


CLUSTERS = {
    "one_worker": daskbfs.local_cluster,
    "two_workers": lambda: daskbfs.local_cluster(2),
    "hybrid": lambda: daskbfs.HybridCluster(1, gpus=0, emulated_gpus=2),
}


@pytest.fixture(scope="session")
def shared_client():
    """The client of a shared cluster, by the cluster's name: it starts when first asked for."""
    with contextlib.ExitStack() as clusters:
        yield functools.cache(lambda name: clusters.enter_context(_client_of(CLUSTERS[name]())))


@pytest.fixture
def one_worker(shared_client, kron12):
    """A client of a cluster with a worker in this process."""
    yield from _share(shared_client("one_worker"), kron12)


@pytest.fixture
def two_workers(shared_client, kron12):
    """A client of a cluster with two worker processes."""
    yield from _share(shared_client("two_workers"), kron12)


@pytest.fixture
def hybrid(shared_client, kron12):
    """A client of a cluster with a CPU worker and two that emulate GPUs."""
    yield from _share(shared_client("hybrid"), kron12)


@pytest.fixture(scope="session")
def crew(tmp_path_factory):
    """A scheduler and three worker processes, which tests may stop and start again."""
    crew = Crew(3, tmp_path_factory.mktemp("crew"))
    yield crew
    crew.close()


@pytest.fixture
def crew_graph(crew, kron14):
    """A graph on all three workers of the crew, with kernels loaded there."""
    crew.restore(3)
    placed = daskbfs.distribute(kron14, crew.client)
    daskbfs.bfs(placed, int(kron14.random_sources(1)[0]), driver="auto")
    yield placed
    placed.release()
