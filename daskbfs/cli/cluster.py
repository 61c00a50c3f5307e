"""``daskbfs cluster``: a cluster on this machine that stays."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from daskbfs.cli import options


@click.command()
@click.option(
    "--devices",
    metavar="KINDS",
    default="cpu=1",
    show_default=True,
    help="Workers to start, for example cpu=1,gpu=2; gpu-emulated runs a GPU's kernels on the CPU.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where all ports listen. Those who reach them can run code as you: for another machine's "
    "clients, add --tls, or be sure that the network is yours alone.",
)
@click.option(
    "--tls",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False),
    help="Speak TLS only, with ca.pem, cert.pem and key.pem of this folder (cluster_configs/tls.sh "
    "makes some).",
)
@click.option(
    "--dashboard",
    metavar="ADDRESS",
    default=":8787",
    show_default=True,
    help="Where the dashboard listens, on --host where this is a port alone; another port where "
    "this one is taken.",
)
@click.option(
    "--scheduler-file",
    type=click.Path(),
    help="Write how to connect to this file, for Client(scheduler_file=...).",
)
@click.option("--quiet", is_flag=True, help="Say nothing.")
@options.plain_errors
def cluster(
    devices: str,
    host: str,
    tls: str | None,
    dashboard: str,
    scheduler_file: str | None,
    quiet: bool,
) -> None:
    """Start a cluster on this machine, for clients that come and go, until Ctrl-C.

    Other clusters are started by the files in cluster_configs: SSH, SLURM, Kubernetes, TLS.

    \b
    daskbfs cluster --devices cpu=2 --scheduler-file scheduler.json
    daskbfs cluster --devices cpu=1,gpu=4
    daskbfs cluster --host 10.0.0.5 --tls ~/certificates
    """  # noqa: D301
    from daskbfs.cluster.hybrid import HybridCluster
    from daskbfs.dashboard import PAGE, can_draw
    from daskbfs.machine.atomic_file import require_target
    from daskbfs.names import Device, parse_devices

    kinds = parse_devices(devices)
    if scheduler_file:
        require_target(Path(scheduler_file))
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    numbers = [kinds.count(kind) for kind in Device]
    security = None if tls is None else _security(Path(tls))
    with HybridCluster(
        *numbers, host=host, security=security, dashboard_address=dashboard
    ) as started:
        say = options.speaker(quiet)
        page = started.dashboard_link.removesuffix("/status")
        page += f"/{PAGE}" if can_draw() else " (its page of searches needs 'daskbfs[dashboard]')"
        say(f"{devices} at {started.scheduler_address}, dashboard {page}")
        say(f"daskbfs run kron:20 --scheduler {started.scheduler_address}; Ctrl-C ends it")
        with _write_while_open(scheduler_file, started.scheduler.identity()):
            ended.wait()


def _security(folder: Path) -> Any:
    """TLS by the certificates of a folder, for scheduler, workers and clients alike."""
    from distributed import Security

    ca, cert, key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
    for file in (ca, cert, key):
        if not file.is_file():
            raise FileNotFoundError(
                f"{file} is missing: --tls wants ca.pem, cert.pem and key.pem in {folder}"
            )
    roles = {
        f"tls_{role}_{kind}": str(file)
        for role in ("scheduler", "worker", "client")
        for kind, file in (("cert", cert), ("key", key))
    }
    return Security(tls_ca_file=str(ca), require_encryption=True, **roles)


@contextlib.contextmanager
def _write_while_open(file: str | None, identity: dict[str, Any]) -> Iterator[None]:
    """A file that tells clients how to connect, for as long as they can."""
    from daskbfs.machine.atomic_file import whole_file

    if file is None:
        yield
        return
    with whole_file(Path(file)) as target:
        target.write(json.dumps(identity, default=str).encode())
    try:
        yield
    finally:
        Path(file).unlink(missing_ok=True)
