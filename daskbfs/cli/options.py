"""What the commands share: options, one-line errors, and JSON that is written whole."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from daskbfs.names import DRIVERS, FORMATS, GENERATORS, POLICIES, READ_ONLY_FORMATS, STRATEGIES

if TYPE_CHECKING:
    from distributed import Client

    from daskbfs.distribution.distributed_graph import DistributedGraph
    from daskbfs.graph.edge_stream import Origin
    from daskbfs.graph.graph import Graph
    from daskbfs.names import Device
    from daskbfs.progress import Progress

CHOSEN_STRATEGIES = ("auto", *STRATEGIES)
WRITTEN_FORMATS = tuple(name for name in FORMATS if name not in READ_ONLY_FORMATS)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_INTERRUPTED = 128 + signal.SIGINT
_SHOWN_ERRORS = (ValueError, TypeError, MemoryError, OSError, RuntimeError, ImportError)


class Refused(click.ClickException):
    """What was asked for cannot be done; a check that fails is a plain ClickException, exit 1."""

    exit_code = 2


def plain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Show errors as one line, not as a traceback, unless --debug asks for it."""

    @click.option("--debug", is_flag=True, help="Show the traceback of an error.")
    @functools.wraps(command)
    def wrapped(*args: Any, debug: bool, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except KeyboardInterrupt:
            click.echo("daskbfs: interrupted", err=True)
            raise click.exceptions.Exit(_INTERRUPTED) from None
        except Exception as error:
            if debug:
                traceback.print_exc()
            text = str(error)
            if not isinstance(error, _SHOWN_ERRORS):
                text = f"{type(error).__name__}: {error} (a mistake of ours; --debug shows where)"
            raise Refused(text) from error

    return wrapped


class GraphWord(click.ParamType):
    """A file, an address, or a generator with a scale."""

    name = "graph"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        kinds = [f"{kind}:" for kind in GENERATORS if f"{kind}:".startswith(incomplete)]
        return [*map(CompletionItem, kinds), CompletionItem(incomplete, type="file")]


graph_argument = click.argument("graph", type=GraphWord())


def json_option(what: str) -> Decorator:
    """The option ``--json`` of a command that can write something for programs."""
    text = f"Write {what} to this file; '-' is standard output."
    return click.option("--json", "json_file", type=click.Path(), help=text)


def quiet_option(what: str = "") -> Decorator:
    """The option ``--quiet`` of a command, and what else than bars it leaves out."""
    text = f"No progress bars, {what}." if what else "No progress bars."
    return click.option("--quiet", is_flag=True, help=text)


def count_option(*names: str, default: int, help: str) -> Decorator:
    """An option that says how many, from 1 on."""
    return click.option(
        *names, type=click.IntRange(1), default=default, show_default=True, help=help
    )


def choice_option(
    name: str, choices: Sequence[str], *, default: str | None = None, help: str
) -> Decorator:
    """An option that says which of some names."""
    return click.option(
        name, type=click.Choice(choices), default=default, show_default=True, help=help
    )


plot_option = click.option(
    "--plot", "plot_file", type=click.Path(), help="Draw them to this .png, .svg or .pdf."
)

_GRAPH_OPTIONS = (
    click.option(
        "--seed",
        type=click.IntRange(0),
        help="Of the graph, of random sources, and of random cuts.  [default: 1; of "
        "kron-reference 2, which is the official graph]",
    ),
    count_option("--edgefactor", default=16, help="Edges per vertex of generated graphs."),
    click.option("--directed", is_flag=True, help="Keep the directions of a file's edges."),
    choice_option("--format", FORMATS, help="What the file is.  [default: what its name tells]"),
    click.option(
        "--columns",
        metavar="A,B",
        help="Of a table (.csv, .parquet), the two that are an edge's ends.  [default: known by "
        "names such as source,target]",
    ),
)


@dataclass(frozen=True, slots=True)
class GraphChoice:
    """What the options say of a graph."""

    seed: int | None
    edgefactor: int
    directed: bool
    format: str | None
    columns: str | None

    @property
    def number(self) -> int:
        """The seed of sources and cuts."""
        return 1 if self.seed is None else self.seed

    def open(self, graph: str, *, directed: bool | None = None) -> Origin:
        """Where the graph comes from that a word stands for; None leaves directions to its file."""
        from daskbfs.io.spec import open_origin

        return open_origin(
            graph,
            directed=self.directed or directed,
            format=self.format,
            columns=None if self.columns is None else self.columns.split(","),
            edgefactor=self.edgefactor,
            seed=self.seed,
        )


def _packed(options: Sequence[Callable[..., Any]], kind: type, name: str) -> Decorator:
    """A decorator that gives a command some options as one argument."""
    fields = [field.name for field in dataclasses.fields(kind)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def packed(*args: Any, **kwargs: Any) -> Any:
            chosen = kind(**{field: kwargs.pop(field) for field in fields})
            return command(*args, **kwargs, **{name: chosen})

        decorated: Callable[..., Any] = packed
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


graph_options = _packed(_GRAPH_OPTIONS, GraphChoice, "choice")
"""Options of commands that open a graph."""

_CLUSTER_OPTIONS = (
    choice_option(
        "--driver", DRIVERS, default="auto", help="What runs the levels; direct is without Dask."
    ),
    click.option(
        "--workers",
        type=click.IntRange(1),
        help="CPU workers of a cluster started here; one lives in this process.  [default: 1]",
    ),
    click.option("--scheduler", metavar="ADDRESS", help="Search on this Dask cluster."),
    click.option(
        "--devices",
        metavar="KINDS",
        help="Workers of a cluster started here, for example cpu=1,gpu=2; gpu-emulated runs a "
        "GPU's kernels on the CPU.",
    ),
    click.option(
        "--cpu-share",
        type=click.FloatRange(0, 1),
        help="Of the edges, for CPUs beside GPUs.  [default: what does not fit these, or half]",
    ),
    choice_option(
        "--strategy",
        CHOSEN_STRATEGIES,
        default="auto",
        help="How vertices are dealt to partitions: the highest degrees to CPUs, the lowest, or "
        "any; mirror gives all to CPUs, and to GPUs once more.",
    ),
    choice_option(
        "--direction",
        POLICIES,
        help="How to choose between top-down and bottom-up.  [default: beamer]",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1),
        help="Threads of each worker's kernels.  [default: the cores, divided among workers]",
    ),
)


@dataclass(frozen=True, slots=True)
class Where:
    """What the options say of where to search, and how."""

    driver: str
    workers: int | None
    scheduler: str | None
    devices: str | None
    cpu_share: float | None
    strategy: str
    direction: str | None
    threads: int | None

    def check(self) -> None:
        """Refuse options that exclude each other, before anything is made."""
        from daskbfs.kernels.threads import check_threads

        if self.scheduler and self.workers:
            raise click.UsageError("--scheduler and --workers exclude each other")
        if self.devices and (self.scheduler or self.workers):
            raise click.UsageError(
                "--devices starts a cluster: leave --workers and --scheduler out"
            )
        if self.driver == "direct" and (self.scheduler or self.workers or self.devices):
            raise click.UsageError(
                "--driver direct has no workers: leave --workers, --devices and --scheduler out"
            )
        if self.scheduler is None:  # workers elsewhere know best what they have
            check_threads(self.threads)
        self._kinds()

    def _kinds(self) -> Sequence[Device]:
        from daskbfs.names import parse_devices

        return parse_devices(self.devices) if self.devices else ()

    @property
    def n_partitions(self) -> int:
        """Partitions of a graph on the cluster that is started here."""
        return len(self._kinds()) or self.workers or 1

    def client(self) -> contextlib.AbstractContextManager[Client | None]:
        """A client of the cluster; None is without Dask."""
        from daskbfs.distribution.connect import client_for

        return client_for(
            direct=self.driver == "direct",
            n_workers=self.workers,
            scheduler=self.scheduler,
            devices=self._kinds(),
        )

    def place(
        self, origin: Origin, client: Client | None, seed: int | None, progress: Progress
    ) -> Graph | DistributedGraph:
        """The graph where it is to be searched."""
        from daskbfs.distribution.connect import place

        return place(
            origin,
            client,
            strategy=self.strategy,
            cpu_share=self.cpu_share,
            seed=seed,
            progress=progress,
        )


cluster_options = _packed(_CLUSTER_OPTIONS, Where, "where")
"""Options of commands that search, here or on a cluster."""


def check_json(file: str | None) -> None:
    """Refuse a file that cannot be written, before its content is computed."""
    from daskbfs.machine.atomic_file import require_target

    if file and file != "-":
        require_target(Path(file))


def speaker(quiet: bool, *, err: bool = False) -> Callable[[str], None]:
    """Print to standard output or standard error, or don't."""
    return (lambda text: None) if quiet else functools.partial(click.echo, err=err)


def write_json(report: dict[str, Any], file: str) -> None:
    """Write a report whole, or not at all."""
    text = json.dumps(report, indent=1) + "\n"
    if file == "-":
        sys.stdout.write(text)
        return
    from daskbfs.machine.atomic_file import whole_file

    with whole_file(Path(file)) as target:
        target.write(text.encode())
