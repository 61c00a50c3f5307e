"""Compiled loops: arrays in, counts out."""
