"""Timed work: trials, kernels, construction."""
