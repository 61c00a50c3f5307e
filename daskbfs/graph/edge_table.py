"""Tables of edges: which two columns are the ends of an edge, and their integers.

Anything whose columns have ``to_numpy`` is a table: pandas, polars, pyarrow, cuDF.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daskbfs.graph.edge_stream import Block

_PAIRS = (
    ("source", "target"), ("src", "dst"), ("from", "to"), ("head", "tail"), ("u", "v"),
    ("start", "end"), ("fromnodeid", "tonodeid"), ("source_id", "target_id"),
)  # fmt: skip
"""Names by which columns are known to be the ends of an edge, in any mix of capitals."""


def choose_columns(
    name: str, there: Sequence[str], wanted: Sequence[str] | None, *, bare: bool = False
) -> tuple[str, str]:
    """The columns that are asked for, or that their names tell, or the only two there are.

    ``bare`` columns have numbers for names, so the first two will do.
    """
    twice = [column for column in dict.fromkeys(there) if list(there).count(column) > 1]
    if wanted is not None:
        if isinstance(wanted, str) or len(wanted) != 2:
            raise ValueError(
                f"columns {wanted!r} are not two: name those of an edge's ends, for example "
                "('source', 'target')"
            )
        for column in wanted:
            if column not in there:
                raise ValueError(f"{name} has no column {column!r}: it has {_quote(there)}")
        return _require_two(name, wanted[0], wanted[1], twice)
    by_name = {str(column).strip().lower(): column for column in there}
    for pair in _PAIRS:
        if all(end in by_name for end in pair):
            return _require_two(name, by_name[pair[0]], by_name[pair[1]], twice)
    if len(there) == 2 or (bare and len(there) > 2):
        return _require_two(name, there[0], there[1], twice)
    raise ValueError(
        f"{name} has the columns {_quote(there)}: name the two that are an edge's ends, for "
        "example columns=('source', 'target')"
    )


def _require_two(name: str, head: str, tail: str, twice: Sequence[str]) -> tuple[str, str]:
    """The columns of both ends, if each name stands for one column."""
    if head == tail or head in twice or tail in twice:
        raise ValueError(
            f"{name}: columns {head!r} and {tail!r} are not two, or stand there twice: an edge's "
            "ends need a column each, with a name of its own"
        )
    return head, tail


def column_names(table: Any) -> list[str] | None:
    """The names of a table's columns; None where it is no table."""
    if _is_arrow(table):
        return list(getattr(table, "column_names", None) or getattr(table, "schema", table).names)
    if hasattr(table, "collect_schema") and not hasattr(table, "to_numpy"):
        raise TypeError("a LazyFrame has no rows yet: collect() it first")
    columns = getattr(table, "columns", None)
    return None if columns is None or callable(columns) else list(columns)


_ROWS = "row {}, from 0 on"


def table_ends(
    table: Any, name: str, columns: tuple[str, str], n_before: int = 0, counted: str = _ROWS
) -> Block:
    """Heads and tails of a table's rows, ``n_before`` of which came before, counted as told."""
    heads, tails = (
        column_integers(
            table.column(column) if _is_arrow(table) else table[column],
            f"{name}: column {column!r}",
            n_before,
            counted,
        )
        for column in columns
    )
    return heads, tails


def _is_arrow(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pyarrow"


def _quote(columns: Sequence[str]) -> str:
    """Some columns, as an error tells them."""
    shown = ", ".join(repr(column) for column in columns[:8])
    return shown + (", ..." if len(columns) > 8 else "") if columns else "none"


def column_integers(column: Any, what: str, n_before: int, counted: str) -> np.ndarray:
    """The integers of a column, ``n_before`` rows of which came before; none may be missing."""
    values = column.to_numpy(zero_copy_only=False) if _is_arrow(column) else column.to_numpy()
    if values.dtype.kind in "iu":
        return np.asarray(values)
    if values.size == 0:
        return np.empty(0, np.int64)
    missing = np.asarray([value is None or value != value for value in values])
    if missing.any():
        where = counted.format(n_before + int(missing.argmax()))
        raise ValueError(f"{what} has no value in {where}: drop such rows first")
    raise TypeError(
        f"{what} has the type {getattr(column, 'dtype', None) or values.dtype}: vertex ids are "
        "integers; number your vertices first, for example with pandas.factorize"
    )
