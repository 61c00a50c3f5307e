"""How a task waits for others of its attempt without standing in the way of other tasks.

It waits in its thread for ``waves.patience-seconds``, then secedes: two runs on the same workers
cannot block each other. Every half second it asks whether its result is still wanted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from distributed import Status, get_worker, secede

from daskbfs import config

LOOK_SECONDS = 0.5
"""How often a task asks whether it is still wanted."""


class Abandoned(RuntimeError):
    """A task waited for something that is not needed any more."""


def wait_politely(is_there: Callable[[float], bool], *, patient: bool = True) -> None:
    """Wait until ``is_there(seconds)`` says so, which itself waits for so long at most."""
    seconds = config.get("waves.patience-seconds") if patient else 0.0
    while not is_there(seconds):
        require_wanted()
        _let_others_in()
        seconds = LOOK_SECONDS


def require_wanted() -> None:
    """Raise Abandoned where the result of the current task is not wanted any more."""
    if not _is_wanted():
        raise Abandoned("the run was cancelled")


def is_leaving(worker: Any) -> bool:
    """Whether a worker is on its way out, or gone."""
    return worker.status in (Status.closing, Status.closed, Status.failed)


def _is_wanted() -> bool:
    """Whether the result of the current task is still wanted."""
    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    running = task is not None and task.state in ("executing", "long-running")
    return running and not is_leaving(worker)


_seceded = threading.local()


def _let_others_in() -> None:
    """Let others have the current task's place, once."""
    key = get_worker().get_current_task()
    if getattr(_seceded, "key", None) != key:
        _seceded.key = key
        secede()
