"""Timed work: benchmarks, comparisons, the experiments of the papers."""
