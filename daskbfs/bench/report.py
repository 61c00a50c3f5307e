"""One self-contained page of records: ``daskbfs report RECORDS.json -o report.html``."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from daskbfs import __version__
from daskbfs.bench import partition_report as cutting
from daskbfs.bench import partitioning
from daskbfs.bench.trials import read_json
from daskbfs.machine.atomic_file import require_target, whole_file
from daskbfs.machine.hardware import human_rate
from daskbfs.plotting.figures import (
    degree_figure,
    phases_figure,
    rates_figure,
    runs_figure,
    search_figure,
)
from daskbfs.plotting.pictures import render, require_matplotlib, save
from daskbfs.telemetry.html_table import html_table
from daskbfs.telemetry.levels import EMULATED_NOTE, LevelTable

_HYBRID = "Sallinen et al., Accelerating Direction-Optimized BFS on Hybrid Architectures"
_DATING = "Gharaibeh et al., On Graphs, GPUs, and Blind Dating"
_STYLE = """
body { font-family: Helvetica, Arial, sans-serif; max-width: 62rem; margin: 2rem auto;
       padding: 0 1rem; color: #222; line-height: 1.45; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; }
figure { margin: 1.5rem 0; } img { max-width: 100%; }
figcaption { color: #555; font-size: 0.9rem; } .warning { font-weight: bold; }
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure of the page."""

    name: str
    figure: Any
    caption: str
    paper: str
    """Which figure of which paper it follows."""


@dataclass(slots=True)
class Records:
    """What some files hold, by what they are."""

    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of ``daskbfs run --json``, by name."""
    sweeps: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of ``python -m daskbfs.bench.partitioning --json``."""
    cuts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of ``daskbfs partition --json``."""


def read_records(files: Sequence[str]) -> Records:
    """Records from files; an error names the file that is none."""
    records = Records()
    for file in files:
        found = read_json(file)
        name = Path(file).stem
        while any(name in kind for kind in (records.runs, records.sweeps, records.cuts)):
            name += "'"
        if found.get("trials"):
            records.runs[name] = found
        elif found.get("sweeps"):
            records.sweeps[name] = found
        elif found.get("partitions"):
            records.cuts[name] = found
        else:
            raise ValueError(
                f"{file} has neither trials nor sweeps nor partitions: give what 'daskbfs run "
                "--json', 'daskbfs partition --json' or the partitioning benchmark wrote"
            )
        if not isinstance(found.get("graph", {}), dict):
            raise ValueError(f"{file} is damaged: its 'graph' is no object")
    return records


def write_report(files: Sequence[str], target: str, *, png: bool = False) -> list[str]:
    """Write the page and, on request, its pictures beside it; returns what was written."""
    require_matplotlib()
    require_target(Path(target))
    if Path(target).resolve() in [Path(file).resolve() for file in files]:
        raise ValueError(f"{target} holds the records to be shown: give another name with -o")
    records = read_records(files)
    try:
        shown = figures(records)
        page = _page(records, shown)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"the records lack what a report needs ({error!r}): write them anew"
        ) from error
    written = [target]
    if png:
        for picture in shown:
            file = str(Path(target).with_suffix("")) + f"-{picture.name}.png"
            save(picture.figure, file)
            written.append(file)
    with whole_file(Path(target)) as out:
        out.write(page.encode())
    return written


def figures(records: Records) -> list[Shown]:
    """All figures that the records allow."""
    shown = []
    medians = {name: _levels(_median_trial(run)) for name, run in records.runs.items()}
    for i, (name, levels) in enumerate(medians.items(), 1):
        label = _label(name, records)
        shown.append(
            Shown(
                f"degree-{i}",
                degree_figure(levels, f"{label}: time and mean degree per level"),
                "Time of the slowest worker and mean degree of the frontier, in the search of "
                "median time; levels that were searched bottom-up are shaded.",
                f"figure 1 of {_HYBRID}",
            )
        )
        shown.append(
            Shown(
                f"devices-{i}",
                search_figure(levels, f"{label}: levels by device"),
                "Time in kernels per level and kind of device, summed over workers, and the "
                "frontier, in the search of median time.",
                f"figure 4 (right) of {_HYBRID}",
            )
        )
    timed = {n: run["trials"] for n, run in records.runs.items() if "phases" in run["trials"][0]}
    if timed:
        shown.append(
            Shown(
                "phases",
                phases_figure(timed, "Where the time of a search goes"),
                "Means over all trials. Compute is the slowest worker's; push and pull are "
                "exchange around top-down and bottom-up levels; elsewhere is the way to the "
                "workers and back.",
                f"figure 3 of {_HYBRID}; figures 5 and 9 of {_DATING}",
            )
        )
    if len(medians) > 1:
        shown.append(
            Shown(
                "runs",
                runs_figure(medians, "Time per level"),
                "Time of the slowest worker per level, in each run's search of median time.",
                f"figure 4 (left) of {_HYBRID}",
            )
        )
    rates = {n: [t["teps"] for t in run["trials"] if t["teps"]] for n, run in records.runs.items()}
    rates = {name: found for name, found in rates.items() if found}
    if rates:
        shown.append(
            Shown(
                "rates",
                rates_figure(rates, "Search rates"),
                "Each trial, and the harmonic mean of a run; input edges of the component per "
                "second of the whole search.",
                f"figure 2 of {_HYBRID}; figure 14 of {_DATING}",
            )
        )
    for i, swept in enumerate(records.sweeps.values(), 1):
        shown.append(
            Shown(
                f"sweep-{i}",
                partitioning.picture(swept),
                "Search rate by the share of the edges on the first worker, for each strategy, and "
                "the share of the vertices that goes with it.",
                f"figures 4, 7, 8 and 12 of {_DATING}",
            )
        )
    for i, cut in enumerate(records.cuts.values(), 1):
        shown.append(
            Shown(
                f"cut-{i}",
                cutting.picture(cut),
                "What each partition holds, and what it has to tell the others.",
                f"figure 7 of {_DATING}, for one cut",
            )
        )
    return shown


def _median_trial(run: Mapping[str, Any]) -> dict[str, Any]:
    """The trial of median time; of an even number, the faster."""
    trials = sorted(run["trials"], key=lambda trial: trial["seconds"])
    median: dict[str, Any] = trials[(len(trials) - 1) // 2]
    return median


def _levels(trial: Mapping[str, Any]) -> LevelTable:
    return LevelTable.from_dicts(trial["levels"])


def _label(name: str, records: Records) -> str:
    graph = records.runs[name]["graph"]["name"]
    return graph if len(records.runs) == 1 else f"{name} ({graph})"


def _page(records: Records, shown: Sequence[Shown]) -> str:
    parts = ["<h1>Breadth-first searches</h1>", *_machines(records)]
    if records.runs:
        parts += ["<h2>Runs</h2>", _runs_table(records.runs)]
    if any(_levels(t).emulated for run in records.runs.values() for t in run["trials"]):
        parts.append(f'<p class="warning">{EMULATED_NOTE}.</p>')
    parts.append("<h2>Figures</h2>")
    parts += [_figure(number, picture) for number, picture in enumerate(shown, 1)]
    for name, run in records.runs.items():
        trial = _median_trial(run)
        parts.append(
            f"<h2>{html.escape(_label(name, records))}: levels of the search from "
            f"{html.escape(str(trial['source']))}</h2>{_levels(trial)._repr_html_()}"
        )
    return whole_page("daskbfs report", parts)


def whole_page(title: str, parts: Sequence[str]) -> str:
    """A page that needs nothing else."""
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n{body}\n"
        f"<p>Made by daskbfs {html.escape(__version__)}.</p>\n</body></html>\n"
    )


def _machines(records: Records) -> list[str]:
    """The machines that the records come from."""
    all_records = [*records.runs.values(), *records.sweeps.values(), *records.cuts.values()]
    return list(dict.fromkeys(machine_html(found["machine"]) for found in all_records))


def machine_html(machine: Mapping[str, Any]) -> str:
    """Where something was measured."""
    memory = machine["memory_bytes"] / 2**30
    return (
        f"<p>Measured on {html.escape(str(machine['cpu']))}, {int(machine['cores'])} cores, "
        f"{memory:.0f} GiB, with Python {html.escape(str(machine['python']))}, numba "
        f"{html.escape(str(machine['numba']))}, Dask {html.escape(str(machine['dask']))}.</p>"
    )


def _runs_table(runs: Mapping[str, dict[str, Any]]) -> str:
    header = (
        "run", "graph", "vertices", "edges", "driver", "direction", "workers", "trials",
        "median (ms)", "rate (harmonic mean)", "validated",
    )  # fmt: skip
    rows = []
    for name, run in runs.items():
        graph, cluster = run["graph"], run["cluster"]
        rate, median = run["harmonic_mean_teps"], run["median_seconds"]
        devices = {} if cluster is None else cluster["devices"]
        workers = ", ".join(f"{n} {kind}" for kind, n in devices.items() if n) or "-"
        validated = {True: "yes", False: "FAILED", None: "no"}[run["validated"]]
        rows.append(
            (
                name,
                graph["name"],
                f"{graph['n_vertices']:,}",
                f"{graph['n_edges']:,}",
                run["driver"],
                run["direction"],
                workers,
                f"{len(run['trials'])}",
                "-" if median is None else f"{median * 1e3:,.3f}",
                "-" if rate is None else human_rate(rate),
                validated,
            )
        )
    return html_table(header, rows, words=(0, 1, 4, 5, 6, 10))


def _figure(number: int, shown: Shown) -> str:
    caption = f"{html.escape(shown.caption)} (After {html.escape(shown.paper)}.)"
    return picture_html(shown.figure, f"Figure {number}. {caption}", shown.caption)


def picture_html(figure: Any, caption: str, alternative: str) -> str:
    """A picture in the page itself; the caption is HTML, what stands for the picture is text."""
    picture = base64.b64encode(render(figure, "svg")).decode()
    return (
        f'<figure><img alt="{html.escape(alternative)}" '
        f'src="data:image/svg+xml;base64,{picture}">'
        f"<figcaption>{caption}</figcaption></figure>"
    )
