"""What tests of losses share: traps in workers, searches with a clock."""

from __future__ import annotations

import os
import signal
import time

import daskbfs
from tests.support.checks import check
from tests.support.crew import left_behind

KILL_SECONDS = 2.0
"""That a search may take longer after a kill, beside the rebuild."""
STOP_SECONDS = 10.0
"""The same after a silent stop."""


def set_trap(phase, sign):
    """Let this worker receive a signal when it comes to a phase of its next search."""
    from daskbfs.engine import levels, superstep
    from daskbfs.engine.exchange.mail import Mailboxes
    from daskbfs.engine.exchange.shared_memory import MeetingPlace

    by_mail_and_memory = {
        "open": [(levels.RunStates, "__init__")],
        "compute": [(superstep.AttemptStates, "compute")],
        "between": [(Mailboxes, "send"), (MeetingPlace, "tell_and_hear")],
        "gather": [(levels, "gather"), (levels.LevelsByMemory, "_record")],
        "close": [(superstep.AttemptStates, "close")],
        "settle": [(superstep.AttemptStates, "settle")],
    }

    def set_one(owner, name):
        original = getattr(owner, name)

        def trap(*arguments, **more):
            setattr(owner, name, original)
            if phase == "between" and owner is Mailboxes:  # the reply is on its way
                original(*arguments, **more)
                time.sleep(0.02)
            os.kill(os.getpid(), sign)
            return original(*arguments, **more)

        setattr(owner, name, trap)

    for owner, name in by_mail_and_memory[phase]:
        set_one(owner, name)


def timed_search(placed, source, driver="waves"):
    start = time.monotonic()
    result = daskbfs.bfs(placed, source, driver=driver)
    return result, time.monotonic() - start


def check_kill_in_a_search(crew, crew_graph, graph, phase, *, coordinator, driver):
    """Kill a worker in a phase of a search: the tree is right all the same, and nothing is left."""
    victim = crew_graph.placement.workers[0 if coordinator else 1]
    crew.client.run(set_trap, phase, signal.SIGKILL, workers=[victim])
    source = int(graph.random_sources(2)[1])
    result, seconds = timed_search(crew_graph, source, driver)
    assert victim not in crew_graph.where()
    check(graph, source, result)
    assert seconds < KILL_SECONDS + 1.0, "plus the rebuild"
    del result
    assert left_behind(crew.client, crew_graph.placed_partitions) == ([], [])


def slow_down(seconds):
    """Let every level on this worker take longer; returns to normal with 0."""
    from daskbfs.engine import superstep

    original = getattr(superstep.AttemptStates, "original_compute", superstep.AttemptStates.compute)
    superstep.AttemptStates.original_compute = original

    def compute(self, message):
        time.sleep(seconds)
        return original(self, message)

    superstep.AttemptStates.compute = compute if seconds else original
