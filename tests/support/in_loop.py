"""Clusters whose scheduler and workers live in the event loop of the test."""

from __future__ import annotations

from typing import Any

from distributed import utils_test
from distributed.utils_test import gen_cluster

# it would end all child processes, and with them the clusters that tests share
utils_test.term_or_kill_active_children = lambda timeout: None


def cluster(n_workers: int, **options: Any) -> Any:
    """Run an ``async`` test with a client, a scheduler and some workers, all in its event loop."""
    return gen_cluster(
        client=True,
        nthreads=[("127.0.0.1", 1)] * n_workers,
        clean_kwargs={"processes": False, "threads": False},
        **options,
    )
