"""Checks of what users pass to functions."""

from __future__ import annotations

import operator
from typing import Any


def as_integer(value: Any, name: str, rule: str = "it must be an integer") -> int:
    """The value, if it is an integer; a TypeError with its name otherwise."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} {value!r} is a {type(value).__name__}: {rule}") from None
