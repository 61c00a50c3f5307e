"""Other people's programs as peers: each reads a file that is written for it, searches, and prints
its times as the GAP benchmark does.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from daskbfs.bench.systems.baselines import Edges
from daskbfs.graph.build import construct
from daskbfs.graph.edge_stream import ArrayEdges
from daskbfs.io import edge_list, write_graph
from daskbfs.machine import hardware
from daskbfs.machine.atomic_file import whole_file

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_PLACEHOLDERS = ("graph", "edges", "source", "trials")
_FILES = {"graph": "graph.sg", "edges": "edges.el"}
_SECONDS = r"\s+(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*$"
_TRIAL_TIME = re.compile(f"^Trial Time:{_SECONDS}", re.MULTILINE)
_BUILD_TIME = re.compile(f"^Build Time:{_SECONDS}", re.MULTILINE)
_VERIFICATION = re.compile(r"^Verification:\s+(PASS|FAIL)\s*$", re.MULTILINE)
_LONGEST_PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class CommandRun:
    """What a program told of its searches from one source."""

    source: int
    trial_seconds: tuple[float, ...]
    """One for each search, as printed: GAP tells hundredths of a millisecond, so 0 can be."""
    kernel1_seconds: float | None
    """None where it built nothing."""
    validated: bool | None
    """Whether its own checks passed; None where it made none."""
    peak_bytes: int | None
    """The most memory that it was seen to hold; None where the system does not tell."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program that searches, and prints what GAP's ``bfs`` prints."""

    name: str
    words: tuple[str, ...]
    """The program and its arguments, with placeholders."""
    text: str
    """As it was given."""

    @classmethod
    def parse(cls, text: str) -> Command:
        """A command from NAME=CMD.

        CMD holds {source}, and {graph}, a GAP file (.sg) of the graph, or {edges}, the input edges
        as text (.el), one way only, duplicates and self-loops included. {trials} is how often to
        search. There is no shell.

        Examples
        --------
        >>> Command.parse("gap=./bfs -f {graph} -r {source} -n {trials} -v").name
        'gap'
        """
        name, _, rest = text.partition("=")
        try:
            words = tuple(shlex.split(rest))
        except ValueError as error:
            raise ValueError(f"peer command {text!r} cannot be read ({error}): {_RULE}") from None
        if not name.strip() or not words:
            raise ValueError(f"peer command {text!r} has no name or no command: {_RULE}")
        command = cls(name.strip(), words, text)
        wanted = command.placeholders()
        for unknown in sorted(wanted.difference(_PLACEHOLDERS)):
            raise ValueError(f"peer command {text!r}: {{{unknown}}} is not known: {_RULE}")
        if "source" not in wanted or wanted.isdisjoint(_FILES):
            raise ValueError(f"peer command {text!r} is not told what to search: {_RULE}")
        return command

    def placeholders(self) -> set[str]:
        """What is put in where it runs."""
        return {name for word in self.words for name in _PLACEHOLDER.findall(word)}

    def run(
        self,
        files: Mapping[str, Path],
        source: int,
        *,
        trials: int = 1,
        timeout_seconds: float = 600.0,
    ) -> CommandRun:
        """Run the program once.

        Parameters
        ----------
        files
            From ``written_files``.
        source
            Where its searches start.
        trials
            How often it searches, where it asks.
        timeout_seconds
            When to kill it, with whatever it started.

        Raises
        ------
        RuntimeError
            When it cannot be started, fails, takes too long or tells no time.
        """
        values = {**files, "source": source, "trials": trials}
        words = [_PLACEHOLDER.sub(lambda found: str(values[found[1]]), w) for w in self.words]
        if shutil.which(words[0]) is None:
            raise RuntimeError(
                f"peer {self.name}: {words[0]} is no program that can be run: give its path"
            )
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                code, peak = _run_to_end(words, out, err, timeout_seconds)
            except OSError as error:
                raise RuntimeError(
                    f"peer {self.name}: {shlex.join(words)} cannot be started ({error})"
                ) from None
            told, complaints = _text(out), _text(err)
        what = None
        if code is None:
            what = f"was killed after {timeout_seconds:g} seconds"
        elif code:
            what = f"ended with {_ending(code)}"
        elif not _TRIAL_TIME.search(told):
            what = "printed no 'Trial Time:', as GAP does"
        if what:
            said = (complaints.strip() or told.strip() or "nothing").splitlines()[-1]
            raise RuntimeError(
                f"peer {self.name}: {shlex.join(words)} {what}; the last it said: {said}"
            )
        built = _BUILD_TIME.search(told)
        checks = _VERIFICATION.findall(told)
        return CommandRun(
            source=source,
            trial_seconds=tuple(map(float, _TRIAL_TIME.findall(told))),
            kernel1_seconds=float(built[1]) if built else None,
            validated="FAIL" not in checks if checks else None,
            peak_bytes=peak,
        )


_RULE = (
    "write NAME=CMD with {source} and with {graph} or {edges}, for example "
    "'gap=./bfs -f {graph} -r {source} -n {trials} -v'"
)


@contextlib.contextmanager
def written_files(edges: Edges, commands: Iterable[Command]) -> Iterator[dict[str, Path]]:
    """The files that some commands want, by placeholder, in a folder that is removed afterwards."""
    wanted = set().union(*(command.placeholders() for command in commands))
    stream = ArrayEdges(edges.heads, edges.tails, edges.n_vertices)
    with tempfile.TemporaryDirectory(prefix="daskbfs-peers-") as folder:
        files = {name: Path(folder) / file for name, file in _FILES.items() if name in wanted}
        if "graph" in files:
            write_graph(construct(stream), files["graph"])
        if "edges" in files:
            with whole_file(files["edges"]) as file:
                edge_list.write(stream.blocks(), file)
        yield files


def _run_to_end(
    words: list[str], out: IO[bytes], err: IO[bytes], timeout_seconds: float
) -> tuple[int | None, int | None]:
    """Run a program to its end: its exit code, None if it was killed, and its peak memory.

    Memory is looked at while it runs: what the system tells of a process that is over includes its
    parent's, from before the program was loaded.
    """
    peak = None
    begin = time.perf_counter()
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
    ) as process:
        try:
            while process.poll() is None:
                peak = hardware.peak_bytes_of(process.pid) or peak
                elapsed = time.perf_counter() - begin
                if elapsed > timeout_seconds:
                    return None, peak
                time.sleep(min(_LONGEST_PAUSE_SECONDS, 0.0005 + elapsed / 20))
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, peak


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _ending(code: int) -> str:
    """An exit code in words."""
    return f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
