"""Supersteps on the GPU, by the names and arguments of the CPU's, and an emulator."""
