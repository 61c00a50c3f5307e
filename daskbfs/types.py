"""The words that everybody shares: directions, devices, vertex numbers."""

from __future__ import annotations

import enum

import numpy as np

NONE = np.uint32(2**32 - 1)
"""No vertex: the order of an isolated vertex, the parent of a row that has none yet."""

MAX_VERTICES = 2**32 - 65
"""Vertex numbers are uint32, NONE is not one of them, and bitmaps are padded to whole words."""


class Direction(enum.StrEnum):
    """Which way a level is searched."""

    TOP_DOWN = "top_down"
    BOTTOM_UP = "bottom_up"


class Device(enum.StrEnum):
    """What ran a kernel; emulated devices never pass for real ones."""

    CPU = "cpu"
    GPU = "gpu"
    GPU_EMULATED = "gpu-emulated"
