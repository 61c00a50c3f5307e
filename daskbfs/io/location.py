"""Where graph files are: on this machine, or wherever fsspec reaches (``s3://``, ``https://``).

A location pickles to workers. Errors of fsspec may be anything; they become ``OSError``.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from daskbfs.machine.atomic_file import require_target, whole_file

_PROTOCOL = re.compile(r"([a-z][a-z0-9+.-]*)(://|::)")  # of an address, or of a chain of them


@dataclass(frozen=True, slots=True)
class Location:
    """A file, or a folder of files, by its path or address; the same on every machine."""

    address: str
    local: Path | None
    """Its path on this machine; None where it is elsewhere."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """For fsspec; may hold secrets."""

    @classmethod
    def of(cls, path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Location:
        """Where a path or address leads; workers may stand in another folder."""
        address = os.fspath(path)
        if not isinstance(address, str):
            raise TypeError(f"{address!r} is no text: give a path or an address as a str")
        address = address.removeprefix("file://")
        if _is_elsewhere(address) and not Path(address).exists():
            return cls(address, None, dict(options or {}))
        if options:
            raise ValueError(
                f"{address} is on this machine: storage options are for addresses such as s3://..."
            )
        return cls._here(Path(address).absolute())

    @classmethod
    def _here(cls, path: Path) -> Location:
        return cls(str(path), path)

    @property
    def name(self) -> str:
        """The last part of its address: of a chain, of the first link that has a path."""
        if self.local is not None:
            return self.local.name
        paths = [link.partition("://")[2] for link in self.address.split("::")]
        path = next((path for path in paths if path), self.address)
        return path.split("?")[0].split("#")[0].rstrip("/").rpartition("/")[2]

    @property
    def size(self) -> int:
        """Bytes; 0 where unknown."""
        if self.local is not None:
            return self.local.stat().st_size
        system, path = self._remote()
        with self._plain_errors():
            return system.size(path) or 0

    def is_folder(self) -> bool:
        """Whether it is a folder."""
        if self.local is not None:
            return self.local.is_dir()
        system, path = self._remote()
        with self._plain_errors():
            return bool(system.isdir(path))

    def files(self) -> list[Location]:
        """The files in a folder and those in it, sorted; hidden ones and marks are left out."""
        if self.local is not None:
            found = [Location._here(path) for path in self.local.rglob("*") if path.is_file()]
        else:
            system, path = self._remote()
            with self._plain_errors():
                names = [system.unstrip_protocol(name) for name in system.find(path)]
            found = [Location(name, None, self.options) for name in names]
        begin = len(self.address)
        return [
            file
            for file in sorted(found, key=lambda file: file.address)
            if not any(part.startswith((".", "_")) for part in file.address[begin:].split("/"))
        ]

    def require_file(self) -> None:
        """Refuse what is not there, or cannot be read twice."""
        path = self.local
        if path is None:
            system, place = self._remote()
            with self._plain_errors():
                if not system.exists(place):
                    raise FileNotFoundError(
                        f"{self.address} does not exist, or cannot be reached: give the address of "
                        "a graph file"
                    )
            return
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist: give the path of a graph file")
        if not path.is_file() and not path.is_dir():
            raise ValueError(
                f"{path} is not a regular file: a graph is read twice, which a pipe or a device "
                "does not allow; save it to a file first"
            )

    @contextlib.contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Its bytes; can seek."""
        if self.local is not None:
            with self.local.open("rb") as file:
                yield file
            return
        system, path = self._remote()
        with self._plain_errors(), system.open(path, "rb") as file:
            yield cast(IO[bytes], file)

    def require_target(self) -> None:
        """Refuse a place where no file can be put, before its content is computed."""
        if self.local is not None:
            require_target(self.local)
        else:
            self._remote()

    @contextlib.contextmanager
    def open_target(self) -> Iterator[IO[bytes]]:
        """A file that appears there once it is complete; until then, what was there stays."""
        if self.local is not None:
            with whole_file(self.local) as file:
                yield file
            return
        system, path = self._remote()
        with tempfile.TemporaryDirectory() as folder:
            complete = Path(folder) / "complete"
            with complete.open("wb") as file:
                yield file
            with self._plain_errors():
                system.put_file(str(complete), path)

    def _remote(self) -> tuple[Any, str]:
        """The file system that it is on, and its path there."""
        from fsspec.core import url_to_fs

        try:
            system, path = url_to_fs(self.address, **self.options)
        except ImportError as error:
            raise ImportError(f"{self.address} cannot be reached: {error}") from error
        except ValueError as error:  # no such protocol
            raise ValueError(f"{self.address} cannot be reached: {error}") from error
        return system, path

    @contextlib.contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Errors of other people's file systems, which may be anything, as OSErrors with a name."""
        try:
            yield
        except (OSError, ValueError, TypeError, MemoryError) as error:
            if isinstance(error, OSError) and self.address not in str(error):
                raise OSError(f"{self.address} cannot be read or written: {error}") from error
            raise
        except Exception as error:
            raise OSError(
                f"{self.address} cannot be read or written: {type(error).__name__}: {error}"
            ) from error


def _is_elsewhere(address: str) -> bool:
    """Whether an address begins with a protocol; of a chain, with one that there is."""
    found = _PROTOCOL.match(address)
    if found is None or found[2] == "://":
        return found is not None
    from fsspec import available_protocols

    return found[1] in available_protocols()


def require_rising(offsets: np.ndarray, n: int, what: str) -> None:
    """Refuse offsets that do not rise from 0 to ``n``; differences of any numbers might wrap."""
    ends_well = offsets.size and offsets[0] == 0 and offsets[-1] == n
    if not ends_well or np.any(offsets[1:] < offsets[:-1]):
        raise ValueError(f"{what} must rise from 0 to {n}")


def read_array(file: IO[bytes], name: str, dtype: Any, n: int, offset: int) -> np.ndarray:
    """So many numbers of a file, from a byte on."""
    wanted = np.dtype(dtype)
    file.seek(offset)
    raw = file.read(n * wanted.itemsize)
    if len(raw) < n * wanted.itemsize:
        raise ValueError(f"{name} became shorter while it was read")
    return np.frombuffer(raw, wanted)
