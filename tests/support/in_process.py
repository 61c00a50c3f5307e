"""Programs run in this process, over partitions on some devices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from daskbfs.algorithms.bfs.api import _program
from daskbfs.algorithms.bfs.direction import Implementation, policy
from daskbfs.algorithms.bfs.program import BFS
from daskbfs.algorithms.components.program import Components
from daskbfs.algorithms.components.result import ComponentsResult, Labels
from daskbfs.algorithms.pagerank.api import _program as rank_program
from daskbfs.algorithms.pagerank.api import _result, _shares
from daskbfs.cluster.threads import Share
from daskbfs.engine.job import FinishedRun
from daskbfs.engine.results import LocalResult
from daskbfs.engine.superstep import run_in_place
from daskbfs.kernels.vertex_numbers import NONE
from daskbfs.names import Device
from daskbfs.partition.layout import lay_out, mirrored
from daskbfs.partition.numbering import number
from daskbfs.partition.partition import cut
from daskbfs.telemetry.levels import NO_PHASES, LevelTable

CPU, EMULATED = Device.CPU, Device.GPU_EMULATED


def held(graph, devices, strategy="high", limit=None):
    """Partitions in this process on some devices, and the global id of each vertex."""
    n_cpu = devices.count(CPU)
    share = 0.5 if n_cpu else 0.0
    layout = lay_out(graph, len(devices), strategy, n_cpu=n_cpu, cpu_share=share)
    return cut_on(graph, layout, devices, limit), layout.global_id[graph.order]


def cut_on(graph, layout, devices, limit=None):
    """The partitions of a layout, each on its device."""
    host = number(graph, layout)
    numberings = {device: host.on(device, limit) for device in set(devices)}
    return [cut(graph, layout, p, numberings[device]) for p, device in enumerate(devices)]


def search(graph, source, devices, *, strategy="high", limit=None, **options):
    """A search in this process over partitions on some devices: parents by vertex, and records."""
    partitions, place = held(graph, devices, strategy, limit)
    program = _program(graph, source, place, **options)
    outcome = run_in_place(program, partitions, Share(2))
    return parents_of(graph, source, outcome, place), outcome.measured.records, partitions


def always(implementation):
    """A choice that is no choice."""
    return lambda direction, summary: implementation


ON_MIRRORS = always(Implementation.BGC)


def search_mirrored(graph, source, devices, *, way="bottom_up", choice=ON_MIRRORS):
    """A search in this process over partitions and their mirrors: parents by vertex, records."""
    layout = mirrored(lay_out(graph, len(devices) // 2, "high"))
    place = layout.global_id[graph.order]
    at = int(place[graph.ids.index(source)])
    program = BFS(at, graph.degree(graph.row_of(source)), policy(way), choice=choice)
    outcome = run_in_place(program, cut_on(graph, layout, devices), Share(2))
    return parents_of(graph, source, outcome, place), outcome.measured.records


def parents_of(graph, source, outcome, place):
    """The parent of each vertex, in the user's ids, -1 where the search did not come."""
    found = np.concatenate([part.values for part in outcome.parts])[place]
    parent = found.astype(np.int64)
    parent[found == NONE] = -1
    if graph.ids.values is not None:
        parent[found != NONE] = graph.ids.values[found[found != NONE]]
    parent[graph.ids.index(source)] = source
    return parent


def ranked(
    graph, devices, *, strategy="high", limit=None, wishes=None, tolerance=1e-11, iterations=500
):
    """Ranks in this process over partitions on some devices, and these."""
    partitions, place = held(graph, devices, strategy, limit)
    share = None if wishes is None else _shares(graph, wishes)
    enough = None if tolerance is None else tolerance * graph.n_vertices
    program = rank_program(graph, share, 0.85, enough, iterations, place)
    outcome = run_in_place(program, partitions, Share(2))
    levels = LevelTable(outcome.measured.records)
    where = SimpleNamespace(graph=graph, place=place)
    run = FinishedRun(
        program, where, LocalResult(outcome), levels, NO_PHASES, 1.0, "direct", [outcome]
    )
    return _result(share, enough, run), partitions


def connected(graph, devices, *, strategy="high", limit=None):
    """Components in this process over partitions on some devices, and these."""
    partitions, place = held(graph, devices, strategy, limit)
    outcome = run_in_place(Components(), partitions, Share(2))
    labels = Labels(place, partitions[0].n_rows, outcome.parts)
    return ComponentsResult(graph, labels, LevelTable(outcome.measured.records), 1.0), partitions
