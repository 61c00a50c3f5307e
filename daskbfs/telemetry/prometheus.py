"""Prometheus: what a scheduler's recorder has summed up, on the scheduler's ``/metrics``.

Dask serves the registry of the whole process there, so there is one collector in a process, which
tells of all recorders together.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import Sum

if TYPE_CHECKING:
    from daskbfs.telemetry.recorder import Recorder

_BY_KIND = {
    "levels": "Levels searched.",
    "edges_examined": "Arcs that kernels looked at.",
    "kernel_seconds": "Seconds in kernels, summed over workers.",
    "exchanged_bytes": "Bytes of frontiers that workers received.",
}


class Collector:
    """Turns totals into series at each scrape."""

    def __init__(self) -> None:
        self.recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()

    def collect(self) -> Iterator[Any]:
        """All series."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        recorders = list(self.recorders)
        totals = [recorder.totals for recorder in recorders]
        counts: Counter[tuple[str, str]] = Counter()
        sums: dict[tuple[Device, Direction], Sum] = {}
        for total in totals:
            counts.update(total.searches)
            for kind, part in total.sums.items():
                sums[kind] = (sums.get(kind) or Sum(*kind)).plus(*part[2:])
        searches = CounterMetricFamily(
            "daskbfs_searches", "Searches that are over.", labels=["driver", "state"]
        )
        for ended, count in sorted(counts.items()):
            searches.add_metric([str(word) for word in ended], count)
        yield searches
        failures = sum(n for (_, state), n in counts.items() if state == "failed")
        yield CounterMetricFamily(
            "daskbfs_search_failures", "Attempts at a search that failed.", value=failures
        )
        seconds = sum(total.seconds for total in totals)
        yield CounterMetricFamily(
            "daskbfs_search_seconds", "Seconds that searches took.", value=seconds
        )
        for name, help_text in _BY_KIND.items():
            family = CounterMetricFamily(
                f"daskbfs_{name}", help_text, labels=["device", "direction"]
            )
            for kind, part in sorted(sums.items()):
                family.add_metric([str(word) for word in kind], getattr(part, name))
            yield family
        partitions = GaugeMetricFamily(
            "daskbfs_partitions", "Partitions of graphs on the cluster.", labels=["device"]
        )
        graphs = [graph for recorder in recorders for graph in recorder.graphs()]
        devices = Counter(part.device for graph in graphs for part in graph.partitions)
        for device, n in sorted(devices.items()):
            partitions.add_metric([str(device)], n)
        yield partitions

    def describe(self) -> list[Any]:
        """Nothing: series are known only at a scrape."""
        return []


_collector = Collector()


def expose(recorder: Recorder) -> None:
    """Show a recorder's totals from now on, where prometheus_client is installed."""
    try:
        from prometheus_client import REGISTRY
    except ImportError:
        return
    REGISTRY.register(_collector)  # once more does no harm
    _collector.recorders.add(recorder)


def hide(recorder: Recorder) -> None:
    """Show them no longer: its scheduler is gone."""
    _collector.recorders.discard(recorder)
