"""Arrays that serve one search after the other."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

_SPARE_ARRAYS = 4


def ensure_owned(array: Any) -> Any:
    """The array; a copy where it came over the wire and cannot be written.

    Kernels are compiled for arrays that can be written; for others numba compiles them again.
    """
    return array if array.flags.writeable else array.copy()


class Recycler:
    """Hands out arrays, again and again, but never one that still has other references.

    Fresh memory costs a page fault every few kilobytes, many times what it costs to fill it.
    """

    def __init__(self, empty: Callable[..., Any] = np.empty) -> None:
        self._lock = threading.Lock()
        self._arrays: list[np.ndarray] = []
        self._empty = empty

    def take(self, size: int, dtype: type[np.generic]) -> Any:
        """An array with arbitrary contents."""
        with self._lock:
            kin = 0
            for i in range(len(self._arrays)):
                if self._arrays[i].size == size and self._arrays[i].dtype == dtype:
                    kin += 1
                    if sys.getrefcount(self._arrays[i]) <= _REFERENCES_OF_AN_IDLE_ARRAY:
                        return self._arrays[i]
            array = self._empty(size, dtype)
            if kin < _SPARE_ARRAYS:
                self._arrays.append(array)
            return array

    def __reduce__(self) -> tuple[type[Recycler], tuple[()]]:
        return Recycler, ()  # elsewhere, other arrays


def _references_of_an_idle_array() -> int:
    """What getrefcount says of an array that only a list refers to; interpreters differ."""
    arrays = [np.empty(0)]
    return sys.getrefcount(arrays[0])


_REFERENCES_OF_AN_IDLE_ARRAY = _references_of_an_idle_array()
