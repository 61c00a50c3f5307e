"""Every experiment of the four papers that this machine allows: ``python -m daskbfs.bench.papers``.

Writes one HTML page that sets what the papers found beside what was found here, and says what could
not be run, and why. The papers' machines were larger by far: it is the shape of a curve that can be
compared, not its height.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import click

from daskbfs.bench.options import some_option
from daskbfs.bench.papers import (
    adaptive as paper_adaptive,
)
from daskbfs.bench.papers import (
    blind_dating as paper_dating,
)
from daskbfs.bench.papers import (
    hybrid as paper_hybrid,
)
from daskbfs.bench.papers import (
    plain as paper_plain,
)
from daskbfs.bench.papers.experiments import Bench, CannotRun, Experiment
from daskbfs.bench.report import machine_html, picture_html, whole_page
from daskbfs.bench.systems.catalogue import accelerator
from daskbfs.machine import hardware
from daskbfs.machine.atomic_file import require_target, whole_file
from daskbfs.names import Device
from daskbfs.plotting.pictures import require_matplotlib
from daskbfs.progress import Progress, bars
from daskbfs.telemetry.html_table import html_table
from daskbfs.telemetry.levels import EMULATED_NOTE

PAPERS = {
    "000": "Sallinen, Gharaibeh, Ripeanu: Accelerating Direction-Optimized Breadth First Search "
    "on Hybrid Architectures",
    "001": "Gharaibeh, Reza, Santos-Neto, Beltrao Costa, Sallinen, Ripeanu: On Graphs, GPUs, and "
    "Blind Dating",
    "002": "Lin, Zhai, Chen: Energy-Efficient Graph Traversal on Integrated CPU-GPU Architectures",
    "004": "SEI technical note: breadth-first search on CPUs and GPUs",
}


EXPERIMENTS = (
    *paper_hybrid.EXPERIMENTS,
    *paper_dating.EXPERIMENTS,
    *paper_adaptive.EXPERIMENTS,
    *paper_plain.EXPERIMENTS,
)


@click.command()
@click.option("--scale", type=click.IntRange(6), default=16, show_default=True)
@click.option("--sources", "n_sources", type=click.IntRange(1), default=8, show_default=True)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder with real graphs: soc-Slashdot0902.txt.gz and others.",
)
@some_option("--paper", "papers", list(PAPERS), "Only this one; may be repeated.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default="papers.html", show_default=True
)
@click.option("--quiet", is_flag=True, help="No progress bars.")
def main(
    scale: int,
    n_sources: int,
    data: Path | None,
    papers: tuple[str, ...],
    output: Path,
    quiet: bool,
) -> None:
    """Run the papers' experiments here, and write one page about them."""
    try:
        require_matplotlib()
        require_target(output)
        chosen = [e for e in EXPERIMENTS if not papers or e.paper in papers]
        with bars(quiet=quiet) as progress:
            page, n_ran = report(chosen, scale, n_sources, data, progress)
        with whole_file(output) as target:
            target.write(page.encode())
    except (ValueError, OSError, RuntimeError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{n_ran} of {len(chosen)} experiments ran; written to {output}")


def report(
    chosen: Sequence[Experiment],
    scale: int,
    n_sources: int,
    data: Path | None,
    progress: Progress,
) -> tuple[str, int]:
    """The page, and how many experiments ran."""
    bench = Bench(scale, n_sources, data, progress)
    parts, left_out = [], []
    try:
        for n, experiment in enumerate(chosen):
            progress("experiments", n, len(chosen))
            part, why = _try_experiment(experiment, bench)
            parts.append((experiment, part))
            if why is not None:
                left_out.append((experiment, why))
    finally:
        bench.close()
    return _page(parts, left_out, bench), len(chosen) - len(left_out)


def _try_experiment(experiment: Experiment, bench: Bench) -> tuple[str, str | None]:
    """What the page says of an experiment; and why it was not run, where it was not."""
    parts = [
        f"<h3>{html.escape(experiment.which)}</h3>",
        f"<p><b>There:</b> {html.escape(experiment.there)}</p>",
    ]
    why = None
    try:
        found = experiment.run(bench)
    except (CannotRun, RuntimeError, ValueError, MemoryError, OSError) as error:
        why = str(error)
        parts.append(f"<p><b>Here:</b> not run: {html.escape(why)}.</p>")
    else:
        parts.append(f"<p><b>Here:</b> {html.escape(found.told)}</p>")
        emulated = experiment.on_gpus and accelerator() is Device.GPU_EMULATED
        note = f"{EMULATED_NOTE}." if emulated else ""
        if found.figure is not None:
            parts.append(picture_html(found.figure, note, found.told))
        elif note:
            parts.append(f"<p>{note}</p>")
        if found.table is not None:
            words = tuple(range(found.table.n_words))
            parts.append(html_table(found.table.header, found.table.rows, words=words))
    return "\n".join(parts), why


def _page(
    parts: Sequence[tuple[Experiment, str]],
    left_out: Sequence[tuple[Experiment, str]],
    bench: Bench,
) -> str:
    whole = [
        "<h1>Four papers, run again</h1>",
        machine_html(hardware.describe()),
        f"<p>Kronecker graphs up to scale {bench.scale}, {bench.n_sources} searches each. 1S and "
        "2S are one and two CPU workers, each with half of the cores; 1G and 2G are GPU workers. "
        "Rates are end to end unless kernels are named.</p>",
    ]
    if accelerator() is Device.GPU_EMULATED:
        whole.append(f'<p class="warning">{EMULATED_NOTE}.</p>')
    for paper, title in PAPERS.items():
        mine = [part for experiment, part in parts if experiment.paper == paper]
        if mine:
            whole += [f"<h2>{paper}: {html.escape(title)}</h2>", *mine]
    if left_out:
        whole.append("<h2>What could not be run</h2>")
        rows = [(e.paper, e.which, why) for e, why in left_out]
        whole.append(html_table(("paper", "experiment", "why"), rows, words=(0, 1, 2)))
    return whole_page("Four papers, run again", whole)
