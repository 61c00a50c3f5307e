"""Source lines, as a measure of effort: lines with code, without comments and docstrings."""

from __future__ import annotations

import ast
import functools
import io
import tokenize
from pathlib import Path

import daskbfs

_ROOT = Path(daskbfs.__file__).parent
_NO_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
)  # fmt: skip
_FRAMEWORK = (
    "graph.generators", "kernels.generators", "kernels.graph500_random", "kernels.tree_checks",
    "validation", "io", "plotting", "telemetry.views", "telemetry.prometheus", "telemetry.recorder",
)  # fmt: skip
"""What any implementation would share: generation, files, validation; and what only shows."""
_ROOTS = {
    True: (
        "engine.superstep",
        "algorithms.bfs.program",
        "algorithms.bfs.direction",
        "graph.build",
    ),
    False: ("algorithms.bfs.api",),
}


def lines_of_file(file: str) -> int:
    """Lines of code of a file of the package."""
    return count((_ROOT / file).read_text())


@functools.cache
def lines_of_search(*, direct: bool) -> int:
    """Lines of code of our own search: all modules that it needs, without Dask or with it."""
    found: set[str] = set()
    for root in _ROOTS[direct]:
        _follow(root, found)
    return sum(lines_of_file(str(_file(name).relative_to(_ROOT))) for name in found)


def _follow(name: str, found: set[str]) -> None:
    """Add a module, and what it imports of the package."""
    package = name.partition(".")[0]
    if name in found or name in _FRAMEWORK or package in _FRAMEWORK:
        return
    found.add(name)
    for node in ast.walk(ast.parse(_file(name).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("daskbfs"):
            inner = (node.module or "").removeprefix("daskbfs").removeprefix(".")
            for alias in node.names:
                within = f"{inner}.{alias.name}".removeprefix(".")
                if _is_module(within):
                    _follow(within, found)
                elif inner and _is_module(inner):
                    _follow(inner, found)


def _is_module(name: str) -> bool:
    return _file(name).exists()


def _file(name: str) -> Path:
    path = _ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def count(source: str) -> int:
    """Lines of code in a text."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documented.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)
