"""Compressed text: gzip, bzip2, xz and Zstandard, by the end of a file's name."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import importlib
import lzma
import zlib
from collections.abc import Iterator
from pathlib import PurePath
from typing import IO, Any, cast

from daskbfs.machine.devices import MissingPackageError

SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
_MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}
_LONGEST_MAGIC = 6
_GZIP_LEVEL = 6


def suffix(name: str) -> str | None:
    """By what a name tells that a file is compressed; None where it is not."""
    found = PurePath(name).suffix.lower()
    return found if found in SUFFIXES else None


def without_suffix(name: str) -> str:
    """The name of what is inside."""
    return name[: -len(suffix(name) or "")] if suffix(name) else name


@contextlib.contextmanager
def decompress(name: str, file: IO[bytes]) -> Iterator[IO[bytes]]:
    """What is in a file, decompressed where its name says so; damage is a ValueError."""
    kind = suffix(name)
    if kind is None:
        begin = file.read(_LONGEST_MAGIC)
        file.seek(0)
        for other, magic in _MAGIC.items():
            if begin.startswith(magic):
                raise ValueError(f"{name} is compressed: let its name end in {other!r}")
        yield file
        return
    try:
        with _open(kind, file, "rb") as inside:
            yield inside
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(f"{name} is damaged or cut short: {error}") from error
    except OSError as error:
        if error.errno is not None:  # bzip2's own have none
            raise
        raise ValueError(f"{name} is damaged or cut short: {error}") from error
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        raise ValueError(f"{name} is damaged or cut short: {error}") from error


@contextlib.contextmanager
def compress(name: str, file: IO[bytes]) -> Iterator[IO[bytes]]:
    """A file to write to, compressed where its name says so."""
    kind = suffix(name)
    if kind is None:
        yield file
        return
    with _open(kind, file, "wb") as inside:
        yield inside


def require(name: str) -> None:
    """Refuse a compression that needs a package which is not installed."""
    if suffix(name) == ".zst":
        _zstd()


def _open(kind: str, file: IO[bytes], mode: Any) -> IO[bytes]:
    """A compressed file around another."""
    if kind == ".gz":
        # without name and time, equal graphs make equal files
        inside: Any = gzip.GzipFile("", mode, _GZIP_LEVEL, file, mtime=0)
    elif kind == ".bz2":
        inside = bz2.BZ2File(file, mode)
    elif kind == ".xz":
        inside = lzma.LZMAFile(file, mode)  # noqa: SIM115
    else:
        inside = _zstd().ZstdFile(file, mode)
    return cast(IO[bytes], inside)


def _zstd() -> Any:
    """Python's module for Zstandard, or its backport to older Pythons."""
    for module in ("compression.zstd", "backports.zstd"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(module)
    raise MissingPackageError(".zst files need Zstandard: pip install 'daskbfs[formats]'")
