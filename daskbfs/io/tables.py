"""Tables of edges: CSV and Parquet, a row for each edge, two columns of which are its ends.

Read by pyarrow: CSV in blocks, Parquet by row groups, so that any of them can be read without the
others. A folder of Parquet files, as Dask and Spark write them, is one table.
"""

from __future__ import annotations

import contextlib
import csv
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from daskbfs.graph.edge_stream import Block, BlockwiseStream, EdgeStream, PlainStream
from daskbfs.graph.edge_table import choose_columns, table_ends
from daskbfs.io.location import Location
from daskbfs.io.text import edge_lines, open_bytes, open_lines
from daskbfs.machine.devices import require_package

_COLUMNS = ("source", "target")
_SEPARATORS = (",", "\t", ";")
_GROUP_ROWS = 2**20
_CSV_BLOCK_BYTES = 2**22
_TYPICAL_ROW = 12


def pyarrow() -> Any:
    """Pyarrow, with what reads tables."""
    for module in ("pyarrow.csv", "pyarrow.parquet"):
        require_package(module, "formats", "reading and writing CSV and Parquet files")
    return sys.modules["pyarrow"]


@contextlib.contextmanager
def _plain_errors(name: str) -> Iterator[None]:
    """Errors of pyarrow as errors of the file."""
    arrow = pyarrow()
    try:
        yield
    except arrow.ArrowException as error:
        if isinstance(error, MemoryError):
            raise MemoryError(f"{name}: {error}") from error
        told = str(error).splitlines()[0]
        row = re.search(r"Row #(\d+):? ?", told)
        where = f", line {row[1]}" if row else ""
        told = told.replace(row[0], "") if row else told
        raise ValueError(f"{name}{where}: {told}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise ValueError(f"{name} is damaged or cut short: {error}") from error


def open_csv(location: Location, columns: Sequence[str] | None) -> tuple[EdgeStream, bool | None]:
    """The rows of a CSV file; a first line of numbers alone is no heading.

    Empty lines and those that begin with ``#`` are skipped before it, and nowhere else.
    """
    pyarrow()
    n_skipped = 0
    with open_lines(location) as lines:
        for line in lines:
            heading = line.decode("utf-8-sig", "replace").strip()
            if heading and not heading.startswith("#"):
                break
            n_skipped += 1
        else:
            raise ValueError(f"{location.name} is empty: its first line names the columns")
    cells, separator = max(
        ((_split_cells(heading, separator), separator) for separator in _SEPARATORS),
        key=lambda found: len(found[0]),
    )
    bare = all(_is_number(cell) for cell in cells)
    if bare:
        cells = [f"column {i + 1}" for i in range(len(cells))]
    names = choose_columns(location.name, cells, columns, bare=bare)
    return CsvEdges(location, separator, tuple(cells), names, n_skipped + (not bare)), None


def _split_cells(heading: str, separator: str) -> list[str]:
    """The cells of a line, without what quotes them."""
    (cells,) = csv.reader([heading], delimiter=separator, skipinitialspace=True)
    return [cell.strip() for cell in cells]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class CsvEdges(PlainStream):
    """A stream of the rows of a CSV file."""

    location: Location
    separator: str
    cells: tuple[str, ...]
    """What to call the columns."""
    columns: tuple[str, str]
    n_skipped: int
    """Lines before the first edge."""
    n_vertices: int | None = None
    slow = True

    @property
    def n_edges(self) -> int:
        return self.location.size // _TYPICAL_ROW

    def blocks(self) -> Iterator[Block]:
        with _plain_errors(self.location.name):
            try:
                yield from self._read(use_threads=True)
            except pyarrow().ArrowInvalid:
                for _ in self._read(use_threads=False):  # one thread alone knows the row
                    pass
                raise

    def _read(self, *, use_threads: bool) -> Iterator[Block]:
        arrow = pyarrow()
        with open_bytes(self.location) as file:
            reader = arrow.csv.open_csv(
                file,
                arrow.csv.ReadOptions(
                    use_threads=use_threads,
                    block_size=_CSV_BLOCK_BYTES,
                    column_names=self.cells,
                    skip_rows=self.n_skipped,
                ),
                arrow.csv.ParseOptions(delimiter=self.separator),
                arrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(self.columns, arrow.int64()),
                    include_columns=list(self.columns),
                ),
            )
            line = self.n_skipped + 1
            for batch in reader:
                yield table_ends(batch, self.location.name, self.columns, line, "line {}")
                line += batch.num_rows


def open_parquet(
    location: Location, columns: Sequence[str] | None
) -> tuple[EdgeStream, bool | None]:
    """The rows of a Parquet file, or of all in a folder."""
    arrow = pyarrow()
    files = location.files() if location.is_folder() else [location]
    files = [file for file in files if not location.is_folder() or _is_parquet(file.name)]
    if not files:
        raise ValueError(f"{location.name} is a folder without .parquet files: give a graph file")
    groups: list[tuple[int, int]] = []
    n_edges = 0
    names: tuple[str, str] | None = None
    for i, file in enumerate(files):
        with _plain_errors(file.name), file.open() as raw:
            table = arrow.parquet.ParquetFile(raw)
            schema = table.schema_arrow
            names = choose_columns(file.name, schema.names, names or columns)
            for column in names:
                kind = schema.field(column).type
                if not arrow.types.is_integer(kind):
                    raise TypeError(
                        f"{file.name}: column {column!r} has the type {kind}: vertex ids are "
                        "integers"
                    )
            groups += [(i, group) for group in range(table.num_row_groups)]
            n_edges += table.metadata.num_rows
    assert names is not None
    return ParquetEdges(location.name, tuple(files), tuple(groups), names, n_edges), None


def _is_parquet(name: str) -> bool:
    return name.lower().endswith((".parquet", ".pq"))


@dataclass(frozen=True, slots=True)
class ParquetEdges(BlockwiseStream):
    """A stream of the rows of Parquet files; any row group can be read without the others."""

    name: str
    files: tuple[Location, ...]
    groups: tuple[tuple[int, int], ...]
    """File and number of each row group."""
    columns: tuple[str, str]
    n_edges: int
    n_vertices: int | None = None

    def every(self, first: int, step: int) -> Iterator[Block]:
        arrow = pyarrow()
        for i, group in self.groups[first::step]:
            file = self.files[i]
            with _plain_errors(file.name), file.open() as raw:
                table = arrow.parquet.ParquetFile(raw)
                n_before = sum(table.metadata.row_group(g).num_rows for g in range(group))
                batches = table.iter_batches(
                    _GROUP_ROWS, row_groups=[group], columns=list(self.columns)
                )
                for batch in batches:
                    yield table_ends(batch, file.name, self.columns, n_before)
                    n_before += batch.num_rows


def write_csv(blocks: Iterable[Block], file: IO[bytes]) -> None:
    """Write edges under a heading."""
    file.write(",".join(_COLUMNS).encode() + b"\n")
    file.writelines(edge_lines(blocks, between=b","))


def write_parquet(blocks: Iterable[Block], file: IO[bytes]) -> None:
    """Write edges, in row groups."""
    arrow = pyarrow()
    schema = arrow.schema([(column, arrow.int64()) for column in _COLUMNS])
    with arrow.parquet.ParquetWriter(file, schema) as writer:
        for heads, tails in blocks:
            columns = [np.ascontiguousarray(ends, np.int64) for ends in (heads, tails)]
            writer.write_table(arrow.table(columns, schema), row_group_size=_GROUP_ROWS)
