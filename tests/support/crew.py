"""A cluster of real processes whose workers tests may kill, stop and start again."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import subprocess
import sys
import time

from distributed import Client

from tests.support import ROOT


class Crew:
    """A scheduler, workers without nannies (each its own process), and a client."""

    def __init__(self, n_workers, folder, environment=(), scheduler_options=()):
        self.folder = folder
        # workers run our traps, which tests define
        self.environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.environment.update(environment)
        self.file = folder / "scheduler.json"
        self.processes = []
        self.start_scheduler(0, *scheduler_options)
        self.client = Client(scheduler_file=str(self.file), set_as_default=False, timeout=30)
        for _ in range(n_workers):
            self.start_worker()
        self.client.wait_for_workers(n_workers, timeout=60)

    def _start(self, *words):
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def start_scheduler(self, port, *options):
        self.scheduler = self._start(
            "scheduler",
            f"--port={port}",
            "--dashboard-address=:0",
            f"--scheduler-file={self.file}",
            *options,
        )
        until(self.file.exists)

    def start_worker(self, *options):
        return self._start(
            "worker",
            f"--scheduler-file={self.file}",
            "--nthreads=1",
            "--memory-limit=0",
            "--no-nanny",
            "--no-dashboard",
            *options,
        )

    def restore(self, n_workers):
        """Start as many workers as are missing."""
        alive = len(self.client.nthreads())
        for _ in range(n_workers - alive):
            self.start_worker()
        self.client.wait_for_workers(n_workers, timeout=60)

    def pids(self):
        return self.client.run(os.getpid)

    def close(self):
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
            process.kill()
        for process in self.processes:
            process.wait(timeout=20)


def free_port():
    """A port of this machine that nothing listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def left_behind(client, placed=None):
    """Keys and mail on the cluster that belong to no graph but one; waits for others to go.

    An error that went through Dask's ``sync`` holds its caller's results until they are collected.
    """
    own = set() if placed is None else {future.key for future in placed.futures}

    def here(dask_worker):
        mailboxes = getattr(dask_worker, "daskbfs_mail", None)
        return list(mailboxes._boxes) if mailboxes else []

    def stray():
        gc.collect()
        keys = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
        mail = [run for runs in client.run(here).values() for run in runs]
        return [key for key in keys if key not in own], mail

    deadline = time.monotonic() + 5
    found = stray()
    while any(found) and time.monotonic() < deadline:
        time.sleep(0.1)
        found = stray()
    return found
