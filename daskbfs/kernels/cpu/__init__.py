"""Supersteps on the CPU."""
