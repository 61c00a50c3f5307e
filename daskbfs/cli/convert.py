"""``daskbfs convert``: graphs from one file format to another."""

from __future__ import annotations

import click

from daskbfs.cli import options


@click.command()
@click.argument("source", metavar="IN", type=options.GraphWord())
@click.argument("target", metavar="OUT", type=click.Path())
@options.graph_options
@options.choice_option(
    "--to-format",
    options.WRITTEN_FORMATS,
    help="What OUT becomes.  [default: what its name tells]",
)
@options.quiet_option()
@options.plain_errors
def convert(
    source: str,
    target: str,
    choice: options.GraphChoice,
    to_format: str | None,
    quiet: bool,
) -> None:
    """Read the graph IN and write it to OUT; names tell the formats.

    IN is a file, an address (s3://..., https://...), kron:SCALE, kron-reference:SCALE or
    uniform:SCALE. OUT may end in .dbfs (mapped into memory by every later command, however large),
    .el, .txt, .mtx, .gr, .graph, .csv, .parquet, .npz, .sg, .g500 or .g500u; text is compressed
    where .gz, .bz2, .xz or .zst follows. Duplicates and self-loops are dropped, but for Graph500's
    binary edge lists (.g500 packed, .g500u unpacked), which keep the input edges as they are.

    \b
    daskbfs convert soc-LiveJournal1.txt.gz soc.dbfs
    daskbfs convert follows.csv follows.parquet --columns follower,followed --directed
    daskbfs convert kron-reference:20 graph500.g500
    """  # noqa: D301
    from daskbfs.io import converter
    from daskbfs.progress import bars

    write = converter(target, format=to_format)
    with bars(quiet=quiet) as progress:
        written = write(choice.open(source), progress)
    if not quiet:
        click.echo(f"{written} written to {target}")
