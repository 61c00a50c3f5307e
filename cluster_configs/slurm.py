#!/usr/bin/env python
"""A Dask cluster whose workers are jobs of SLURM, for as long as this script runs.

    cluster_configs/slurm.py --jobs 4 --cores 32 --memory 120G --queue batch --walltime 02:00:00

A job is one CPU worker with all cores of the job in its kernels or, with --gpus-per-node, a worker
for each GPU. The scheduler runs here; nodes need this Python with daskbfs (a shared folder), or say
--python and --setup. --print shows the job script and submits nothing. Connect with
Client("tcp://THIS_HOST:8786"), or daskbfs run ... --scheduler tcp://THIS_HOST:8786. Needs
pip install dask-jobqueue. Ctrl-C cancels the jobs.
"""

import argparse
import asyncio
import logging
import re
import shutil
import signal
import sys

try:
    from dask_jobqueue import SLURMCluster
    from dask_jobqueue.slurm import SLURMJob
except ImportError:
    sys.exit("slurm.py: dask-jobqueue is not installed: pip install dask-jobqueue")


class Job(SLURMJob):
    """One task at a time and no limit: kernels have own threads, partitions cannot be spilled."""

    worker_process_threads = 1
    worker_process_memory = 0


class Parser(argparse.ArgumentParser):
    """Tells mistakes in one line."""

    def error(self, message):
        """End with what is wrong."""
        self.exit(2, f"{self.prog}: {message} (--help tells more)\n")


def positive(text):
    """A whole number from 1 on."""
    if not re.fullmatch("[1-9][0-9]*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def memory(text):
    """Memory as SLURM writes it."""
    if not re.fullmatch("[1-9][0-9]*[KMGT]", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not how SLURM writes memory, as in 120G")
    return text


def options(words=None):
    """What the command line says."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--jobs", type=positive, default=1, help="how many (1)")
    add("--cores", type=positive, required=True, help="of a job")
    add("--memory", type=memory, required=True, help="of a job, as in 120G")
    add("--gpus-per-node", type=positive, default=0, metavar="N", help="of a job, by dask-cuda")
    add("--queue", help="SLURM's partition")
    add("--account", help="who pays")
    add("--walltime", default="01:00:00", help="of a job (01:00:00)")
    add(
        "--directive", action="append", default=[], help="more for #SBATCH: --directive=--exclusive"
    )
    add(
        "--setup",
        action="append",
        default=[],
        help="a line for the job script: --setup 'module ..'",
    )
    add("--python", help="Python on the nodes (the path of the one here)")
    add("--interface", help="network between scheduler and workers, for example ib0")
    add("--port", type=int, default=8786, help="of the scheduler (8786)")
    add("--dashboard", default=":8787", help="where its page /bfs is (:8787)")
    add("--print", action="store_true", help="show the job script and submit nothing")
    chosen = parser.parse_args(words)
    if not chosen.print and shutil.which("sbatch") is None:
        parser.error("sbatch is not on the PATH: run this where jobs are submitted, or --print")
    return chosen


def job(chosen):
    """What dask-jobqueue is told about a job."""
    directives = list(chosen.directive)
    gpus = {}
    if chosen.gpus_per_node:
        directives.append(f"--gpus-per-node={chosen.gpus_per_node}")
        gpus = {"worker_command": "dask cuda worker", "worker_extra_args": ["--resources", "GPU=1"]}
    return {
        "job_name": "daskbfs",
        "cores": chosen.cores,
        "memory": chosen.memory,
        "job_mem": chosen.memory,  # as it is written: Dask's G is less than SLURM's
        "processes": chosen.gpus_per_node or 1,
        "queue": chosen.queue,
        "account": chosen.account,
        "walltime": chosen.walltime,
        "job_extra_directives": directives,
        "job_script_prologue": chosen.setup,
        "python": chosen.python,
        "interface": chosen.interface,
        **gpus,
    }


async def serve(chosen):
    """Run the cluster until a signal comes."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    cluster = SLURMCluster(
        job_cls=Job,
        **job(chosen),
        scheduler_options={
            "port": chosen.port,
            "dashboard": True,
            "dashboard_address": chosen.dashboard,
            "preload": ["daskbfs.dashboard"],
        },
        asynchronous=True,
    )
    try:
        await cluster
        cluster.scale(jobs=chosen.jobs)
        await cluster  # until all are submitted
        print(f"scheduler at {cluster.scheduler_address}, {chosen.jobs} jobs", flush=True)
        await stop.wait()
    finally:
        await cluster.close()


def main():
    """Serve, or say in one line why not."""
    chosen = options()
    try:
        if chosen.print:
            print(Job("tcp://SCHEDULER:8786", name="daskbfs-0", **job(chosen)).job_script())
        else:
            logging.getLogger("tornado.application").setLevel(logging.CRITICAL)  # told once, below
            asyncio.run(serve(chosen))
    except Exception as error:
        told = str(error).rsplit("stderr:", 1)[-1]  # of sbatch, where that is what failed
        sys.exit(f"slurm.py: {' '.join(told.split()) or repr(error)}")


if __name__ == "__main__":
    main()
