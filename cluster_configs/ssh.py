#!/usr/bin/env python
"""A Dask cluster on machines that you reach by SSH with a key, each with daskbfs installed.

    cluster_configs/ssh.py HOST WORKER_HOST [WORKER_HOST ...]

HOST runs the scheduler, each WORKER_HOST a CPU worker (or, with --gpus, a worker for each of its
GPUs); a machine may be named as both. Users, ports and keys come from ~/.ssh/config. Connect with
Client("tcp://HOST:8786"), or daskbfs run ... --scheduler tcp://HOST:8786. Ctrl-C ends the cluster.
"""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from distributed import SSHCluster


class Parser(argparse.ArgumentParser):
    """Tells mistakes in one line."""

    def error(self, message):
        """End with what is wrong."""
        self.exit(2, f"{self.prog}: {message} (--help tells more)\n")


def options(words=None):
    """What the command line says."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scheduler", metavar="HOST", help="runs the scheduler")
    parser.add_argument("workers", metavar="WORKER_HOST", nargs="+", help="runs a worker")
    parser.add_argument("--gpus", action="store_true", help="a worker for each GPU, by dask-cuda")
    parser.add_argument("--port", type=int, default=8786, help="of the scheduler (8786)")
    parser.add_argument("--dashboard", default=":8787", help="where its page /bfs is (:8787)")
    parser.add_argument("--python", help="Python on those machines (the path of the one here)")
    parser.add_argument("--ssh-config", metavar="FILE", help="in place of ~/.ssh/config")
    chosen = parser.parse_args(words)
    if chosen.ssh_config and not Path(chosen.ssh_config).is_file():
        parser.error(f"--ssh-config {chosen.ssh_config}: there is no such file")
    return chosen


def new_cluster(chosen):
    """The cluster, not yet started."""
    connect = {"connect_timeout": 30}
    if chosen.ssh_config:
        connect["config"] = [chosen.ssh_config]
    return SSHCluster(
        [chosen.scheduler, *chosen.workers],
        connect_options=connect,
        # one task at a time: kernels bring their own threads; partitions cannot be spilled
        worker_options={"nthreads": 1, "memory_limit": 0},
        worker_class="dask_cuda.CUDAWorker" if chosen.gpus else "distributed.Nanny",
        scheduler_options={
            "port": chosen.port,
            "dashboard": True,
            "dashboard_address": chosen.dashboard,
            "preload": ["daskbfs.dashboard"],
        },
        remote_python=chosen.python,
        asynchronous=True,
        silence_logs=logging.ERROR,
    )


async def serve(chosen):
    """Run the cluster until a signal comes, or its scheduler goes."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    cluster = new_cluster(chosen)
    try:
        await cluster
        print(f"scheduler at {cluster.scheduler_address}, {len(chosen.workers)} hosts", flush=True)
        told = asyncio.create_task(stop.wait())
        gone = asyncio.create_task(cluster.scheduler.proc.wait_closed())
        await asyncio.wait([told, gone], return_when=asyncio.FIRST_COMPLETED)
        if not stop.is_set():
            raise RuntimeError(f"the scheduler on {chosen.scheduler} has ended")
    finally:
        await cluster.close()


def main():
    """Serve, or say in one line why not."""
    chosen = options()
    try:
        asyncio.run(serve(chosen))
    except Exception as error:
        sys.exit(f"ssh.py: {' '.join(str(error).split()) or repr(error)}")


if __name__ == "__main__":
    main()
