"""The experiments of SEI's note: five implementations, their speed and their effort."""

from __future__ import annotations

from daskbfs.bench.papers.experiments import Bench, Experiment, Observation, Table
from daskbfs.bench.papers.hybrid import make_course, rows_of
from daskbfs.bench.systems.figures import picture
from daskbfs.bench.systems.race import Row

_THEIR_LINES = {
    "cpu-list": 135,
    "cpu-csr": 179,
    "gpu-csr": 217,
    "gpu-out-of-core": 1932,
    "linear-algebra-1": 190,
}


def _rows(bench: Bench) -> list[Row]:
    """All systems of the note, and ours, over scales."""
    courses = [make_course(bench, scale) for scale in bench.scales]
    patterns = ("cpu-*", "gpu-*", "linear-algebra-*", "daskbfs", "daskbfs-direct")
    return bench.once(("plain",), lambda: rows_of(courses, bench, *patterns))


def _curves(bench: Bench) -> Observation:
    rows = _rows(bench)
    last = {row.name: row.harmonic_mean_teps or 0.0 for row in rows if row.scale == bench.scale}
    told = (
        f"At scale {bench.scale}, rows of packed ids are {last['cpu-csr'] / last['cpu-list']:.0f} "
        f"times as fast as lists, and daskbfs without Dask is "
        f"{last['daskbfs-direct'] / last['cpu-csr']:.1f} times as fast as these rows."
    )
    return Observation(told, picture(rows))


def _lines(bench: Bench) -> Observation:
    rows = [row for row in _rows(bench) if row.scale == bench.scale]
    shown = [
        (row.name, str(row.source_lines), str(_THEIR_LINES.get(row.name, "-"))) for row in rows
    ]
    return Observation(
        "Python, numba and scipy say the same in fewer lines; ours is a whole scheduler.",
        table=Table(("implementation", "source lines here", "there"), shown),
    )


EXPERIMENTS = (
    Experiment(
        "004",
        "Figures 15 to 19",
        "Kernel 1 grows linearly, and is shortest for lists; for Kernel 2, rows are some 10 times "
        "as fast as lists. GPUs win at large scales; CombBLAS scales with processors. Out of core "
        "is far below what its effort would suggest.",
        _curves,
        on_gpus=True,
    ),
    Experiment(
        "004",
        "Table 1",
        "135 to 217 lines for the simple implementations, 190 with CombBLAS, 1,932 out of core.",
        _lines,
    ),
)
