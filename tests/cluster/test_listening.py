"""Every port of whatever daskbfs starts is open to this machine only."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support import ROOT
from tests.support.crew import until

CONFIGS = ROOT / "cluster_configs"
BIN = Path(sys.executable).parent

EMBEDDED = """
import daskbfs, time
daskbfs.bfs(daskbfs.from_edges([(0, 1)]), 0, driver="auto")
"""
LOCAL = """
import daskbfs, time
if __name__ == "__main__":
    cluster = daskbfs.local_cluster({n})
    cluster.get_client().wait_for_workers({n})
"""
HYBRID = """
import daskbfs, time
if __name__ == "__main__":
    cluster = daskbfs.HybridCluster(gpus=0, emulated_gpus=1)
    cluster.get_client().wait_for_workers(2)
"""
READY = """
    print("ready", flush=True)
    time.sleep(600)
"""


def programs(folder):
    """Commands that start a cluster, by name, and how many sockets listen at least."""
    scripts = {
        "embedded": (EMBEDDED + READY.replace("\n    ", "\n"), 1),
        "local_1": (LOCAL.format(n=1) + READY, 1),
        "local_2": (LOCAL.format(n=2) + READY, 3),
        "hybrid": (HYBRID + READY, 5),
    }
    commands = {}
    for name, (code, n) in scripts.items():
        file = folder / f"{name}.py"
        file.write_text(code)
        commands[name] = ([sys.executable, str(file)], n)
    commands["command"] = ([str(BIN / "daskbfs"), "cluster", "--devices", "cpu=2"], 5)
    commands["local.sh"] = ([str(CONFIGS / "local.sh"), "2"], 8)
    commands["hybrid_node.sh"] = ([str(CONFIGS / "hybrid_node.sh"), "1", "1"], 8)
    return commands


def listening(pid):
    """Where a process and all that it started listen."""
    found = set()
    started = psutil.Process(pid)
    for process in [started, *started.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):
            for socket in process.net_connections("inet"):
                if socket.status == psutil.CONN_LISTEN:
                    found.add((socket.laddr.ip, socket.laddr.port))
    return found


@contextlib.contextmanager
def running(words, folder):
    """A command, ended with all that it started."""
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "DASHBOARD": "127.0.0.1:0"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield process
        finally:
            started = psutil.Process(process.pid).children(recursive=True)
            process.terminate()
            try:
                process.wait(timeout=30)
            finally:
                for one in [process, *started]:  # of a test that failed
                    with contextlib.suppress(psutil.Error):
                        one.kill()
                process.wait(timeout=30)


@pytest.mark.parametrize(
    "name", ["embedded", "local_1", "local_2", "hybrid", "command", "local.sh", "hybrid_node.sh"]
)
def test_nothing_listens_beyond_this_machine(name, tmp_path):
    words, n_least = programs(tmp_path)[name]
    with running(words, tmp_path) as process:

        def ready():
            assert process.poll() is None, (tmp_path / "log").read_text()
            told = (tmp_path / "log").read_text()
            started = "ready" in told or "Ctrl-C" in told or told.count("Registered to") == 2
            return started and len(listening(process.pid)) >= n_least

        until(ready, 60)
        elsewhere = {
            (host, port)
            for host, port in listening(process.pid)
            if not ipaddress.ip_address(host).is_loopback
        }
        assert elsewhere == set()


def test_a_host_that_is_asked_for_is_listened_on(tmp_path):
    words = [str(BIN / "daskbfs"), "cluster", "--host", "127.0.0.2", "--dashboard", ":0"]
    with running(words, tmp_path) as process:
        until(lambda: "Ctrl-C" in (tmp_path / "log").read_text(), 60)
        assert {host for host, _ in listening(process.pid)} == {"127.0.0.2"}


def test_a_command_started_cluster_speaks_tls(tmp_path):
    """The certificates are those that cluster_configs/tls.sh makes."""
    with running([str(CONFIGS / "tls.sh")], tmp_path):
        until(lambda: (tmp_path / "tls" / "key.pem").exists(), 60)
    words = [str(BIN / "daskbfs"), "cluster", "--tls", "tls", "--dashboard", ":0"]
    with running(words, tmp_path) as process:
        until(lambda: "Ctrl-C" in (tmp_path / "log").read_text(), 60)
        told = (tmp_path / "log").read_text()
        address = told.split(" at ")[1].split(",")[0]
        assert address.startswith("tls://127.0.0.1:")
        folder = tmp_path / "tls"
        environment = os.environ | {
            "DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(folder / "ca.pem"),
            "DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT": str(folder / "cert.pem"),
            "DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY": str(folder / "key.pem"),
        }
        search = [str(BIN / "daskbfs"), "run", "kron:8", "--scheduler", address, "--validate"]
        done = subprocess.run(search, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "every tree passed" in done.stdout
        assert process.poll() is None


def test_a_folder_without_certificates_is_refused(tmp_path):
    words = [str(BIN / "daskbfs"), "cluster", "--tls", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "ca.pem is missing: --tls wants ca.pem, cert.pem and key.pem" in done.stderr
