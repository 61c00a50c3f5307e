"""Futures of one attempt: their names, and waiting for them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from distributed import Future, wait


def new_run() -> str:
    """A name that no other attempt has, so that no two share a key."""
    return uuid.uuid4().hex[:16]


async def wait_all(futures: Sequence[Future]) -> None:
    """Wait for futures, without fetching them; raise what they raised."""
    with futures[0].client.as_current():  # the process may have other clients, on other loops
        await wait(list(futures))
    for future in futures:
        if future.status != "finished":
            await future
