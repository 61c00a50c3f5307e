"""What a new user meets first: the current client, a terminal, clear errors, Ctrl-C."""

from __future__ import annotations

import logging
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

import daskbfs
from daskbfs.cli import main
from daskbfs.engine.attempts import Distributions
from tests.support.crew import Crew
from tests.support.process import run_python
from tests.support.terminal import in_a_terminal, screen

pytestmark = pytest.mark.usefixtures("on_the_cluster")

BIN = Path(sys.executable).parent


@pytest.fixture
def users_client():
    """A client as users make one, the current one inside its block."""
    with (
        LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_inside_a_client_block_that_client_is_used(users_client):
    graph = daskbfs.kronecker(8)
    source = int(graph.random_sources(1)[0])
    assert daskbfs.distribute(graph).client is users_client
    assert daskbfs.bfs(graph, source).reached > 1
    assert daskbfs.pagerank(graph, iterations=2).iterations == 2
    assert list(graph.derive(Distributions, Distributions).by_client) == [users_client.id]


def test_without_a_client_a_cluster_is_started_and_told_once(caplog):
    code = """
import logging
logging.basicConfig(level=logging.INFO, format="%(name)s %(message)s")
logging.getLogger("distributed").setLevel(logging.ERROR)
import daskbfs
graph = daskbfs.from_edges([(0, 1)])
print([daskbfs.bfs(graph, 0).reached for _ in range(3)])
"""
    done = run_python(code)
    assert done.stdout == "[2, 2, 2]\n"
    told = "daskbfs.cluster.local no Dask client is running: starting a cluster inside this process"
    assert done.stderr.count(told) == 1, done.stderr
    assert logging.getLogger("daskbfs").level == logging.NOTSET


def test_a_worker_without_daskbfs_is_named(tmp_path):
    """The worker finds a package that fails to import as one that is not there does."""
    hidden = tmp_path / "daskbfs"
    hidden.mkdir()
    missing = "raise ModuleNotFoundError(\"No module named 'daskbfs'\", name='daskbfs')"
    (hidden / "__init__.py").write_text(missing)
    crew = Crew(1, tmp_path, environment={"PYTHONPATH": str(tmp_path)})
    try:
        (worker,) = crew.client.nthreads()
        for graph in ("kron:6", daskbfs.kronecker(6)):
            with pytest.raises(ImportError, match=f"worker {worker} has no daskbfs: install it"):
                daskbfs.distribute(graph, crew.client)
    finally:
        crew.close()


@pytest.mark.parametrize(
    ("word", "hint"),
    [("kron", "kron:20"), ("kron20", "kron:20"), ("uniform-8", "uniform:8")],
)
def test_a_generator_without_a_scale_is_explained(word, hint):
    done = CliRunner().invoke(main, ["run", word])
    assert done.exit_code == 2
    assert f"give its scale after a colon, for example '{hint}'" in done.output


def test_ctrl_c_exits_with_130_and_one_line():
    words = [BIN / "daskbfs", "run", "kron:18", "--sources", "100000", "--driver", "direct"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith(b"Graph 'kron:18'")
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert (process.returncode, told.decode()) == (130, "daskbfs: interrupted\n")


def test_the_dashboard_of_a_cluster_in_this_process_can_be_opened():
    with daskbfs.local_cluster() as cluster, cluster.get_client() as client:
        for link in (cluster.dashboard_link, client.dashboard_link):
            assert urllib.request.urlopen(link, timeout=30).status == 200


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("more", [(), ("--workers", "2")])
def test_a_terminal_keeps_all_that_was_said_and_no_bars(columns, more, tmp_path):
    shown = screen(in_a_terminal(["run", "kron:17", "--sources", "8", *more], columns, tmp_path))
    text = "\n".join(shown)
    assert re.search(r"DistributedGraph 'kron:17': 131072 vertices, \d+ edges.* built in", text)
    assert ("live at http://127.0.0.1:" in text) == bool(more)
    assert "8 searches, median" in text
    assert not re.search("[━╸╺]|searching|counting|compiling", text), text
    start = next(i for i, line in enumerate(shown) if line.startswith("level "))
    table = shown[start : shown.index("", start)]
    assert len(table) > 4
    assert max(len(line) for line in table) <= 80


def test_a_cluster_tells_the_address_of_the_page():
    words = [BIN / "daskbfs", "cluster", "--dashboard", ":0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        told = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert re.fullmatch(r"cpu=1 at tcp://127.0.0.1:\d+, dashboard http://127.0.0.1:\d+/bfs\n", told)
