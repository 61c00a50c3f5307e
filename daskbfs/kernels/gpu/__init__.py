"""Supersteps on the GPU, by the names and arguments of the CPU's, and an emulator.

Kernels use only what a GPU, the emulator and numba's simulator all know: grids, atomics on
integers, popcounts, and in two kernels shared memory and barriers. No votes, no shuffles, no
atomics on floats. What two kernels share is inlined by numba (``device=True, inline="always"``),
since a device function would ask for a device when it is compiled. The emulator calls a private
function of numba-cuda, whose minor version is pinned.
"""
