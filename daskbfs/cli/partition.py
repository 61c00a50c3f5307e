"""``daskbfs partition``: how a graph would be cut."""

from __future__ import annotations

import click

from daskbfs.cli import options
from daskbfs.names import ALGORITHMS


@click.command()
@options.graph_argument
@options.choice_option(
    "--strategy",
    options.CHOSEN_STRATEGIES,
    default="auto",
    help="Who gets what: CPUs the highest degrees, the lowest, or any; mirror gives all to CPUs, "
    "and to GPUs once more.",
)
@click.option(
    "--devices",
    default="cpu=2",
    show_default=True,
    help="Kinds and numbers of devices to cut for; none needs to be there.",
)
@click.option(
    "--cpu-share",
    metavar="SHARE",
    help="Of the edges, 0 to 1, for CPUs; 'fit' leaves them what does not fit elsewhere.  "
    "[default: fit with --gpu-memory, else as configured: 0.5]",
)
@click.option("--gpu-memory", metavar="SIZE", help="Of each accelerator, for example 16GiB.")
@options.choice_option(
    "--algorithm", ALGORITHMS, default="bfs", help="What --strategy auto is to serve."
)
@options.graph_options
@options.json_option("the figures")
@options.plot_option
@options.quiet_option("no table")
@options.plain_errors
def partition(
    graph: str,
    strategy: str,
    devices: str,
    cpu_share: str | None,
    gpu_memory: str | None,
    algorithm: str,
    choice: options.GraphChoice,
    json_file: str | None,
    plot_file: str | None,
    quiet: bool,
) -> None:
    """Show how GRAPH would be cut: no worker and no device is needed.

    \b
    daskbfs partition kron:20 --devices cpu=1,gpu=2 --strategy high --cpu-share 0.6
    daskbfs partition kron:22 --devices cpu=1,gpu=1 --gpu-memory 256MiB --plot cut.png
    """  # noqa: D301
    from daskbfs.bench.partition_report import PartitionPlan, examine, format_report, picture
    from daskbfs.graph.build import build_graph
    from daskbfs.plotting.pictures import check_picture, save
    from daskbfs.progress import bars

    options.check_json(json_file)
    if plot_file:
        check_picture(plot_file)
    plan = PartitionPlan.of(strategy, devices, cpu_share, gpu_memory, algorithm, choice.number)
    with bars(quiet=quiet) as progress:
        report = examine(build_graph(choice.open(graph), progress), plan)
    if json_file:
        options.write_json(report, json_file)
    if plot_file:
        save(picture(report), plot_file)
    options.speaker(quiet or json_file == "-")(format_report(report))
