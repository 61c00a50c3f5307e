"""The numbers that vertices have in kernels."""

from __future__ import annotations

import numpy as np

NONE = np.uint32(2**32 - 1)
"""No vertex: the vertex of a padding row, the parent of a row that has none."""

MAX_VERTICES = 2**32 - 65
"""Vertex numbers are uint32, NONE is not one of them, and bitmaps are padded to whole words."""
