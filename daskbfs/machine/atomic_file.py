"""Files on their way to disk: whole, or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def require_target(path: Path) -> None:
    """Refuse a path where no file can be put, before its content is computed."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {path.parent} does not exist: make it first")
    if path.exists() and not path.is_file():  # renaming over a device would destroy it
        raise ValueError(
            f"{path} is there and is not a regular file: give the name of a file to write"
        )


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name once it is complete; until then, what was there stays."""
    require_target(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
