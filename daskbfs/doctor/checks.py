"""What ``daskbfs doctor`` finds out about this machine and this installation."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib import metadata

from daskbfs import __version__
from daskbfs.cluster.segment import Segment
from daskbfs.doctor import gpu as gpu_findings
from daskbfs.doctor.gpu import Finding
from daskbfs.kernels.meeting import can_meet
from daskbfs.machine import hardware


def examine() -> list[Finding]:
    """Look at everything that a search needs."""
    here = hardware.describe()
    findings = [
        Finding("daskbfs", __version__),
        Finding("python", here["python"]),
        Finding("cpu", f"{here['cpu']}, {here['cores']} cores"),
        Finding(
            "memory",
            f"{hardware.human_bytes(here['memory_bytes'])}, "
            f"{hardware.human_bytes(hardware.available_bytes())} free",
        ),
    ]
    packages = ("numpy", "numba", "dask", "distributed")
    versions = [Finding(package, metadata.version(package)) for package in packages]
    here_found = [*_extras(), *_kernels(), _exchange()]
    return [*findings, *versions, *here_found, *gpu_findings.examine()]


_EXTRAS = (
    ("dashboard page", "bokeh", "dashboard"),
    ("prometheus", "prometheus-client", "dashboard"),
    ("pictures", "matplotlib", "plot"),
)


def _extras() -> list[Finding]:
    """What only some users need."""
    findings = []
    for name, package, extra in _EXTRAS:
        try:
            findings.append(Finding(name, f"{package} {metadata.version(package)}"))
        except metadata.PackageNotFoundError:
            advice = f"pip install 'daskbfs[{extra}]'"
            findings.append(Finding(name, f"{package} is not installed", False, advice))
    return findings


def _exchange() -> Finding:
    """Try what workers of this machine try: one makes memory, another process opens it."""
    name = "workers share"
    why = "this system lacks memfd or futex"
    if can_meet():
        try:
            segment = Segment.create()  # there as long as this variable
            words = [sys.executable, "-c", _OPEN_FILE, segment.ticket.path]
            done = subprocess.run(words, capture_output=True, timeout=_OPEN_SECONDS)
            if done.returncode == 0:
                return Finding(name, "memory: they exchange levels without messages")
            why = "a process may not open another's /proc/PID/fd"
        except (OSError, subprocess.TimeoutExpired) as error:
            why = str(error)
    return Finding(name, f"nothing, and send each other mail: {why}", False)


_OPEN_FILE = "import os, sys; os.open(sys.argv[1], os.O_RDWR)"
_OPEN_SECONDS = 20


def _kernels() -> list[Finding]:
    """Run the kernels once, for real."""
    from daskbfs.algorithms.bfs.api import bfs
    from daskbfs.graph.generators import kronecker
    from daskbfs.kernels.compile import cache_folder
    from daskbfs.kernels.threads import describe_waiting, n_threads
    from daskbfs.validation.validate import ValidationError, validate

    start = time.perf_counter()
    graph = kronecker(scale=10)
    result = bfs(graph, int(graph.random_sources(1)[0]), driver="direct")
    seconds = time.perf_counter() - start
    try:
        validate(graph, result.source, result.parent, result.level)
        tree = Finding("kernels", f"a search of scale 10 is right; ready after {seconds:.1f} s")
    except ValidationError as error:
        tree = Finding(
            "kernels", f"a search of scale 10 is WRONG: {error}", False, "please report this"
        )
    folder = cache_folder()
    return [
        tree,
        Finding("threads", f"{n_threads()}; without work they {describe_waiting()}"),
        Finding(
            "kernel cache",
            folder or "none: kernels are compiled anew in each process",
            folder is not None,
            "" if folder else "set NUMBA_CACHE_DIR to a folder that can be written",
        ),
    ]
