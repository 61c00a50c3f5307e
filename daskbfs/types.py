"""The words that everybody shares: directions, devices, vertex numbers."""

from __future__ import annotations

import enum
import operator
from typing import Any

import numpy as np

NONE = np.uint32(2**32 - 1)
"""No vertex: the vertex of a padding row, the parent of a row that has none."""

MAX_VERTICES = 2**32 - 65
"""Vertex numbers are uint32, NONE is not one of them, and bitmaps are padded to whole words."""


def as_integer(value: Any, name: str, rule: str = "it must be an integer") -> int:
    """The value, if it is an integer; a TypeError with its name otherwise."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {value!r} is a {type(value).__name__}: {rule}") from None


class Direction(enum.StrEnum):
    """Which way a level is searched."""

    TOP_DOWN = "top_down"
    BOTTOM_UP = "bottom_up"


class Device(enum.StrEnum):
    """What ran a kernel; emulated devices never pass for real ones."""

    CPU = "cpu"
    GPU = "gpu"
    GPU_EMULATED = "gpu-emulated"
