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
from daskbfs.telemetry.levels import Sum, add_sums

if TYPE_CHECKING:
    from daskbfs.telemetry.recorder import Recorder

_BY_KIND = {
    "levels": "Levels computed.",
    "edges_examined": "Arcs that kernels looked at.",
    "kernel_seconds": "Seconds in kernels, summed over workers.",
    "exchanged_bytes": "Bytes of messages that workers received.",
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
        runs: Counter[tuple[str, str, str]] = Counter()
        seconds: dict[str, float] = {}
        sums: dict[str, dict[tuple[Device, Direction | None], Sum]] = {}
        for total in totals:
            runs.update(total.runs)
            for algorithm, took in total.seconds.items():
                seconds[algorithm] = seconds.get(algorithm, 0.0) + took
            for algorithm, parts in total.sums.items():
                add_sums(sums.setdefault(algorithm, {}), parts.values())
        ended = CounterMetricFamily(
            "daskbfs_searches", "Runs that are over.", labels=["algorithm", "driver", "state"]
        )
        for kind, count in sorted(runs.items()):
            ended.add_metric([str(word) for word in kind], count)
        yield ended
        failures = CounterMetricFamily(
            "daskbfs_search_failures", "Attempts at a run that failed.", labels=["algorithm"]
        )
        run_seconds = CounterMetricFamily(
            "daskbfs_search_seconds", "Seconds that runs took.", labels=["algorithm"]
        )
        for algorithm in sorted(seconds):
            failed = [n for (a, _, state), n in runs.items() if (a, state) == (algorithm, "failed")]
            failures.add_metric([algorithm], sum(failed))
            run_seconds.add_metric([algorithm], seconds[algorithm])
        yield failures
        yield run_seconds
        for name, help_text in _BY_KIND.items():
            family = CounterMetricFamily(
                f"daskbfs_{name}", help_text, labels=["algorithm", "device", "direction"]
            )
            for algorithm, parts in sorted(sums.items()):
                for (device, direction), part in sorted(parts.items(), key=str):
                    words = [algorithm, str(device), "" if direction is None else str(direction)]
                    family.add_metric(words, getattr(part, name))
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
