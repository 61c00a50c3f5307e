from __future__ import annotations

import math

import numpy as np
import pytest

from daskbfs.bench import confidence as spread


def official_statistics(x):
    """The reference code's get_statistics, word for word in Python."""
    n, xx = len(x), sorted(x)
    mean = sum(x) / n
    return {
        "min": xx[0],
        "firstquartile": (xx[(n - 1) // 4] + xx[n // 4]) * 0.5,
        "median": (xx[(n - 1) // 2] + xx[n // 2]) * 0.5,
        "thirdquartile": (xx[n - 1 - (n - 1) // 4] + xx[n - 1 - n // 4]) * 0.5,
        "max": xx[n - 1],
        "mean": mean,
        "stddev": math.sqrt(sum((v - mean) ** 2 for v in x) / (n - 1)),
    }


@pytest.mark.parametrize("n", [2, 3, 4, 5, 63, 64])
def test_statistics_are_those_of_the_reference_code(n):
    values = np.random.default_rng(n).exponential(size=n).tolist()
    assert spread.statistics(values) == pytest.approx(official_statistics(values))


def test_the_harmonic_mean_and_its_deviation():
    seconds, edges = [1.0, 2.0, 4.0], [100, 100, 200]
    found = spread.rate_statistics(seconds, edges)
    per_edge = np.array([0.01, 0.02, 0.02])
    assert found["harmonic_mean"] == pytest.approx(1 / per_edge.mean())
    deviation = per_edge.std(ddof=1) / (per_edge.mean() ** 2 * math.sqrt(2))
    assert found["harmonic_stddev"] == pytest.approx(deviation)
    assert (found["min"], found["max"]) == pytest.approx((50, 100))


def test_one_value_has_no_deviation():
    assert math.isnan(spread.statistics([1.0])["stddev"])
    found = spread.finite(spread.rate_statistics([1.0], [5]))
    assert (found["harmonic_mean"], found["harmonic_stddev"]) == (5.0, None)


@pytest.mark.slow
@pytest.mark.parametrize("statistic", [spread.mean, spread.median])
def test_intervals_hold_what_they_promise(statistic):
    rng = np.random.default_rng(0)
    true = 1.0 if statistic is spread.mean else math.log(2)
    held = 0
    for _ in range(200):
        low, high = spread.interval(rng.exponential(size=64), statistic)
        held += low <= true <= high
    assert 175 <= held <= 199, "95 % of 200, but for the skew of so few values"


def test_too_few_values_have_no_interval():
    assert spread.interval([1.0] * (spread.FEWEST - 1)) is None
    held = 0
    rng = np.random.default_rng(1)
    for _ in range(200):
        low, high = spread.interval(rng.lognormal(0, 0.3, spread.FEWEST))
        held += low <= math.exp(0.045) <= high
    assert held >= 176


def test_many_values_are_resampled_in_little_memory():
    import tracemalloc

    values = np.random.default_rng(2).uniform(size=5000)
    tracemalloc.start()
    low, high = spread.interval(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert low < values.mean() < high
    assert peak < 150e6
