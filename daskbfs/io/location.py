"""Where graph files are: on this machine, or wherever fsspec reaches (``s3://``, ``https://``)."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from daskbfs.target import require_target, whole_file

_ELSEWHERE = ("://", "::")  # a protocol, or a chain of them, as in simplecache::s3://...


@dataclass(frozen=True, slots=True)
class Location:
    """A file, or a folder of files, by its path or address; the same on every machine."""

    address: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """For fsspec; may hold secrets."""

    @classmethod
    def of(cls, path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> Location:
        """Where a path or address leads; workers may stand in another folder."""
        address = os.fspath(path)
        if address.startswith("file://"):
            address = address.removeprefix("file://")
        if any(mark in address for mark in _ELSEWHERE) and not Path(address).exists():
            return cls(address, dict(options or {}))
        if options:
            raise ValueError(
                f"{address} is on this machine: storage options are for addresses such as s3://..."
            )
        return cls(str(Path(address).absolute()))

    @property
    def local(self) -> Path | None:
        """Its path on this machine; None where it is elsewhere."""
        return None if any(mark in self.address for mark in _ELSEWHERE) else Path(self.address)

    @property
    def name(self) -> str:
        """The last part of its address."""
        if self.local is not None:
            return self.local.name
        return self.address.split("?")[0].split("#")[0].rstrip("/").rpartition("/")[2]

    @property
    def size(self) -> int:
        """Bytes; 0 where nobody knows."""
        if self.local is not None:
            return self.local.stat().st_size
        system, path = self._remote()
        return system.size(path) or 0

    def is_folder(self) -> bool:
        """Whether it is a folder."""
        if self.local is not None:
            return self.local.is_dir()
        system, path = self._remote()
        return bool(system.isdir(path))

    def files(self) -> list[Location]:
        """The files in a folder and those in it, sorted; hidden ones and marks are left out."""
        if self.local is not None:
            found = [str(path) for path in self.local.rglob("*") if path.is_file()]
        else:
            system, path = self._remote()
            found = [system.unstrip_protocol(name) for name in system.find(path)]
        return [
            Location(name, self.options)
            for name in sorted(found)
            if not any(part.startswith((".", "_")) for part in name[len(self.address) :].split("/"))
        ]

    def require_file(self) -> None:
        """Refuse what is not there, or cannot be read twice."""
        path = self.local
        if path is None:
            system, place = self._remote()
            with self._plain_errors():
                if not system.exists(place):
                    raise FileNotFoundError(
                        f"{self.address} does not exist: give the address of a graph file"
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
        """Refuse a place where no file can be put, before anyone works to fill it."""
        if self.local is not None:
            require_target(self.local)
        else:
            self._remote()

    @contextlib.contextmanager
    def written(self) -> Iterator[IO[bytes]]:
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
        except (ImportError, ValueError) as error:  # a package is missing, or no such protocol
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


def read_array(file: IO[bytes], name: str, dtype: Any, n: int, offset: int) -> np.ndarray:
    """So many numbers of a file, from a byte on."""
    wanted = np.dtype(dtype)
    file.seek(offset)
    raw = file.read(n * wanted.itemsize)
    if len(raw) < n * wanted.itemsize:
        raise ValueError(f"{name} became shorter while it was read")
    return np.frombuffer(raw, wanted)
