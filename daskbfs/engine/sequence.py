"""Algorithms that are several runs, one after the other, on any client.

Such an algorithm is a generator: it yields the calls that it wants made, is sent what each
returned, and returns its own result. So it is written once for both kinds of clients.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Calls = Generator[Callable[[], Any], Any, T]


def run_sequence(calls: Calls[T]) -> T:
    """Make the calls, and return what comes of them; with an asynchronous client, to be awaited."""
    value, is_over = None, False
    while not is_over:
        value, is_over = _make_call(calls, value)
        if not is_over and inspect.isawaitable(value):
            rest: T = _await_sequence(calls, value)  # type: ignore[assignment]
            return rest
    result: T = value  # type: ignore[assignment]
    return result


async def _await_sequence(calls: Calls[T], first: Awaitable[Any]) -> T:
    """Make the calls that come after one that is to be awaited."""
    value: Any = first
    is_over = False
    while not is_over:
        if inspect.isawaitable(value):
            value = await value
        value, is_over = _make_call(calls, value)
    result: T = value
    return result


def _make_call(calls: Calls[Any], value: Any) -> tuple[Any, bool]:
    """What the next call returns; or the result, once there are no more, and that it is that."""
    try:
        call = calls.send(value)
    except StopIteration as end:
        return end.value, True
    return call(), False
