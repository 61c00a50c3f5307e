"""``daskbfs compare``: the systems of the papers, ours and others, side by side."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from daskbfs.bench.options import some_option
from daskbfs.cli import options

if TYPE_CHECKING:
    from daskbfs.bench.systems.race import Row

_PAPERS = ("000", "001", "002", "004")
_WIDTHS = (28, 5, 16, 10, 12, 10, 6)


@click.command()
@options.graph_argument
@click.option(
    "--system",
    "patterns",
    multiple=True,
    metavar="NAME",
    help="Only these; may be repeated, and have * and ?.  [default: all]",
)
@some_option("--paper", "papers", _PAPERS, "Only the systems of this paper; may be repeated.")
@options.count_option(
    "--trials", default=8, help="Searches of each system, from the same random vertices."
)
@click.option("--peers", is_flag=True, help="Also other packages, as far as they are installed.")
@click.option(
    "--peer-command",
    "commands",
    multiple=True,
    metavar="NAME=CMD",
    help="Also this program, which prints its times as GAP's do; {graph} in CMD is a .sg file, "
    "{edges} an edge list, {source} the vertex to start from, {trials} is 1. May be repeated.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="That a system may take for one graph.",
)
@click.option("--list", "listing", is_flag=True, help="Only say which systems there are.")
@options.graph_options
@options.json_option("the figures")
@options.plot_option
@options.quiet_option("no table")
@options.plain_errors
def compare(
    graph: str,
    patterns: tuple[str, ...],
    papers: tuple[str, ...],
    trials: int,
    peers: bool,
    commands: tuple[str, ...],
    timeout: float,
    listing: bool,
    choice: options.GraphChoice,
    json_file: str | None,
    plot_file: str | None,
    quiet: bool,
) -> None:
    """Run every system of the papers on GRAPH, one after the other, and set them side by side.

    GRAPH is a file, kron:20, or kron:14..20 for each scale from 14 to 20; it is taken as
    undirected. Each system runs in a process of its own, and each tree is validated against the
    input edges. Papers: 000 hybrid direction-optimized BFS, 001 Totem's partitioning, 002 choice
    of algorithm and device, 004 SEI's five implementations.

    \b
    daskbfs compare kron:18
    daskbfs compare kron:14..20 --paper 004 --plot figures-15-to-19.png
    daskbfs compare soc-Slashdot0902.txt.gz --system 'daskbfs*' --system 'cpu-*' --peers
    daskbfs compare kron:20 --system daskbfs --peer-command 'gap=./bfs -f {graph} -r {source} -n 1'
    """  # noqa: D301
    from daskbfs.bench.systems import race as side_by_side
    from daskbfs.bench.systems.catalogue import choose_systems
    from daskbfs.bench.systems.figures import picture
    from daskbfs.plotting.pictures import check_picture, save
    from daskbfs.progress import bars
    from daskbfs.telemetry.levels import EMULATED_NOTE

    systems = choose_systems(patterns, papers, peers=peers, commands=commands)
    if listing:
        for system in systems:
            click.echo(
                f"{system.name:26} {system.paper or '-':5} {system.device:18} {system.about}"
            )
        return
    if choice.directed:
        raise click.UsageError("the papers search undirected graphs: leave --directed out")
    options.check_json(json_file)
    if plot_file:
        check_picture(plot_file)
    say = options.speaker(quiet or json_file == "-")
    with bars(quiet=quiet) as progress:
        courses = [
            side_by_side.Course.of(
                choice.open(word, directed=False), trials, choice.number, progress
            )
            for word in expand_scales(graph)
        ]
        n_searches = {course.origin.name: len(course.sources) for course in courses}
        said: list[str] = []

        def show_row(row: Row) -> None:
            if row.graph not in said:
                said.append(row.graph)
                say(f"{row.graph}, {n_searches[row.graph]} searches each:")
                say(_line(side_by_side.COLUMNS))
            say(_line(side_by_side.cells(row)))

        rows = side_by_side.compare(
            courses, systems, timeout=timeout, show_row=show_row, progress=progress
        )
    if json_file:
        options.write_json(side_by_side.report(rows), json_file)
    if any(row.emulated for row in rows):
        click.echo(EMULATED_NOTE, err=True)
    if plot_file and any(row.harmonic_mean_teps for row in rows):
        save(picture(rows), plot_file)
    wrong = [row for row in rows if row.validated is False]
    if wrong:
        raise click.ClickException(f"{wrong[0].name} found {wrong[0].failure}")
    if all(row.failure for row in rows):
        raise options.Refused(f"no system came to an end; {rows[0].name}: {rows[0].failure}")


def expand_scales(graph: str) -> list[str]:
    """The graphs that a word stands for: one, or those of a range of scales."""
    found = re.fullmatch(r"([\w-]+):(\d+)\.\.(\d+)", graph)
    if not found:
        return [graph]
    kind, first, last = found[1], int(found[2]), int(found[3])
    if last < first:
        raise ValueError(f"{graph!r} has no scale: the first comes first, as in {kind}:14..20")
    return [f"{kind}:{scale}" for scale in range(first, last + 1)]


def _line(cells: Any) -> str:
    """A line of the table: words to the left, numbers to the right."""
    words = [cell.ljust(w) for cell, w in zip(cells[:3], _WIDTHS[:3], strict=True)]
    numbers = [cell.rjust(w) for cell, w in zip(cells[3:], _WIDTHS[3:], strict=True)]
    return "  ".join(words + numbers).rstrip()
