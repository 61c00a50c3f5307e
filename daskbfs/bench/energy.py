"""Component energy of searches that repeat for a while, on all machines that take part.

One short search is over before a counter has moved: a window of some seconds is measured.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from distributed import Client

from daskbfs.distribution.connect import is_here
from daskbfs.machine.energy import NO_CPU, NO_GPU, EnergyMeter, Reading, read_counters
from daskbfs.partition.placement import in_this_process, machine
from daskbfs.progress import Progress

_LOOK_SECONDS = 1.0


def measure_energy(
    search: Callable[[int], Any],
    edges_of: Mapping[int, int],
    client: Client | None,
    seconds: float,
    progress: Progress,
) -> dict[str, Any]:
    """Search from some sources in turn, for so many seconds; joules, and edges for each of them."""
    meter, readings = EnergyMeter(), _reader(client)
    edges = n_searches = 0
    meter.look(readings())
    start = looked = time.perf_counter()
    for source, n_edges in itertools.cycle(edges_of.items()):
        search(source)
        edges += n_edges
        n_searches += 1
        now = time.perf_counter()
        progress("measuring energy", round(min(now - start, seconds) * 1e3), round(seconds * 1e3))
        if now - start >= seconds and n_searches > 1:
            break
        if now - looked > _LOOK_SECONDS:
            meter.look(readings())
            looked = now
    meter.look(readings())
    return energy_figures(meter, edges, n_searches, time.perf_counter() - start)


def _reader(client: Client | None) -> Callable[[], dict[str, list[Reading]]]:
    """What reads the counters of all machines that take part; one process of each is asked."""
    if client is None or in_this_process(workers := client.nthreads()):
        return lambda: {"here": read_counters()}
    asked = {worker: machine(worker) for worker in workers}
    first = {name: worker for worker, name in sorted(asked.items(), reverse=True)}
    elsewhere = not any(is_here(worker) for worker in workers)

    def readings() -> dict[str, list[Reading]]:
        found = client.run(read_counters, workers=list(first.values()))
        here = {"here": read_counters()} if elsewhere else {}  # parents are put together here
        return {asked[worker]: counters for worker, counters in found.items()} | here

    return readings


def energy_figures(
    meter: EnergyMeter, edges: int, n_searches: int, seconds: float
) -> dict[str, Any]:
    """Component energy in numbers; where a counter cannot be read, it says why, without a sum."""
    joules = meter.joules
    components: dict[str, Any] = {
        name: {
            "joules": value,
            "watts": value / seconds,
            "mteps_per_watt": edges / 1e6 / value if value else None,
        }
        for name, value in joules.items()
    }
    for name, problem in meter.problems.items():
        components[name] = {"unavailable": problem}
    total = sum(joules.values())
    missing = [name for name in meter.problems if name.split()[-1] not in (NO_CPU, NO_GPU)]
    complete = bool(joules) and not missing
    return {
        "what": "component energy, idle included; not that of a whole system at the outlet",
        "seconds": seconds,
        "searches": n_searches,
        "edges": edges,
        "components": components,
        "joules": total if complete else None,
        "mteps_per_watt": edges / 1e6 / total if complete and total else None,
    }


def format_energy(energy: Mapping[str, Any]) -> list[str]:
    """Component energy in lines."""
    if "unavailable" in energy:
        return [f"component energy: unavailable, {energy['unavailable']}"]
    lines = [
        f"component energy over {energy['seconds']:.1f} s, {energy['searches']} searches, idle "
        "included (not a whole system's at the outlet):"
    ]
    for name, found in energy["components"].items():
        if "unavailable" in found:
            lines.append(f"  {name}: unavailable, {found['unavailable']}")
        else:
            rate = found["mteps_per_watt"]
            told_rate = "" if rate is None else f", {rate:.1f} MTEPS/W"
            lines.append(f"  {name}: {found['joules']:.1f} J, {found['watts']:.1f} W{told_rate}")
    if energy["mteps_per_watt"] is not None:
        lines.append(
            f"  together: {energy['joules']:.1f} J, {energy['mteps_per_watt']:.1f} MTEPS/W"
        )
    return lines
