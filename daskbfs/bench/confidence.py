"""How much figures scatter: the statistics of Graph500, and confidence intervals.

Intervals come from the bootstrap (Efron 1979), which supposes nothing of how times scatter: they
have a long tail on every machine that does something else too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

FEWEST = 16
"""Values of which the scatter can be judged: intervals of fewer hold less than they promise."""

_RESAMPLES = 10_000
_DRAWS = 2**22
_SEED = 500
_TAIL = 2.5  # per cent, on either side

Statistic = Callable[[np.ndarray], np.ndarray]
"""Of each row of an array."""


def statistics(values: Sequence[float]) -> dict[str, float]:
    """Order statistics, mean and standard deviation, as the Graph500 reference code has them."""
    ordered = np.sort(np.asarray(values, float))
    n = ordered.size
    return {
        "min": float(ordered[0]),
        "firstquartile": float(ordered[(n - 1) // 4] + ordered[n // 4]) / 2,
        "median": float(ordered[(n - 1) // 2] + ordered[n // 2]) / 2,
        "thirdquartile": float(ordered[n - 1 - (n - 1) // 4] + ordered[n - 1 - n // 4]) / 2,
        "max": float(ordered[-1]),
        "mean": float(ordered.mean()),
        "stddev": float(ordered.std(ddof=1)) if n > 1 else math.nan,
    }


def rate_statistics(seconds: Sequence[float], edges: Sequence[float]) -> dict[str, float]:
    """Statistics of traversed edges per second, with their harmonic mean and its deviation.

    All are taken from seconds per edge, so that the slowest search is the minimum. The deviation is
    that of Norris (1940), whom the specification names.
    """
    per_edge = np.asarray(seconds, float) / np.asarray(edges, float)
    of = statistics(per_edge.tolist())
    n = per_edge.size
    return {
        "min": 1 / of["max"],
        "firstquartile": 1 / of["thirdquartile"],
        "median": 1 / of["median"],
        "thirdquartile": 1 / of["firstquartile"],
        "max": 1 / of["min"],
        "harmonic_mean": 1 / of["mean"],
        "harmonic_stddev": of["stddev"] / (of["mean"] ** 2 * math.sqrt(n - 1))
        if n > 1
        else math.nan,
    }


def mean(rows: np.ndarray) -> np.ndarray:
    """Of each row."""
    return rows.mean(1)


def median(rows: np.ndarray) -> np.ndarray:
    """Of each row."""
    return np.median(rows, axis=1)


def resample(
    values: Sequence[float] | np.ndarray, statistic: Statistic, seed: int = _SEED
) -> np.ndarray:
    """A statistic of many samples, drawn from the values with replacement."""
    known = np.asarray(values, float)
    rng = np.random.default_rng(seed)
    at_once = max(1, _DRAWS // known.size)  # of many values, a few samples at a time
    parts = []
    for first in range(0, _RESAMPLES, at_once):
        n = min(at_once, _RESAMPLES - first)
        parts.append(statistic(known[rng.integers(0, known.size, (n, known.size))]))
    return np.concatenate(parts)


def interval(values: Sequence[float], statistic: Statistic = mean) -> tuple[float, float] | None:
    """Where a statistic lies with 95 % confidence; None where there are too few values to tell."""
    return bounds(resample(values, statistic)) if len(values) >= FEWEST else None


def bounds(resamples: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of what resampling gave."""
    low, high = np.percentile(resamples, [_TAIL, 100 - _TAIL])
    return float(low), float(high)


def finite(figures: Mapping[str, float]) -> dict[str, float | None]:
    """Figures for JSON, which knows no nan."""
    return {name: value if math.isfinite(value) else None for name, value in figures.items()}
