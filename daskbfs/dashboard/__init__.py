"""The page ``/bfs`` on a scheduler's dashboard: live views of what the recorder remembers.

Two ways lead there: ``dask scheduler --preload daskbfs.dashboard`` (or the configuration
``distributed.scheduler.preload``), and :func:`install_dashboard` on a cluster that runs.
"""

from __future__ import annotations

import importlib.util
from typing import Any

from distributed import Client
from distributed.diagnostics.plugin import SchedulerPlugin

from daskbfs.machine.devices import MissingPackageError
from daskbfs.telemetry.recorder import Recorder

PAGE = "bfs"


def install_dashboard(client: Client) -> str:
    """Put the page ``/bfs`` on the dashboard of a client's cluster.

    The scheduler must have daskbfs and bokeh (``pip install 'daskbfs[dashboard]'``). Clusters that
    daskbfs started have the page already, and so has a scheduler that was started with ``--preload
    daskbfs.dashboard``; once more does no harm.

    Parameters
    ----------
    client
        A Dask client.

    Returns
    -------
    str
        Where the page is. With an asynchronous client, ``await install_dashboard(client)``.

    Examples
    --------
    >>> import daskbfs
    >>> with daskbfs.local_cluster() as cluster, cluster.get_client() as client:
    ...     daskbfs.install_dashboard(client).endswith("/bfs")
    True
    """
    return client.sync(_install, client)


async def _install(client: Client) -> str:
    await client.register_plugin(_Installer())
    return page_link(client)


def can_draw() -> bool:
    """Whether there is bokeh here, without which no scheduler has a dashboard."""
    return importlib.util.find_spec("bokeh") is not None


def page_link(client: Client) -> str:
    """Where the page of a client's cluster is."""
    return client.dashboard_link.removesuffix("/status") + f"/{PAGE}"


class _Installer(SchedulerPlugin):  # type: ignore[misc]
    """Carries the installation to the scheduler."""

    name = "daskbfs-dashboard"
    idempotent = True

    async def start(self, scheduler: Any) -> None:
        if not can_draw():
            raise MissingPackageError(
                "the scheduler has no bokeh: pip install 'daskbfs[dashboard]' where it runs"
            )
        if not attach(scheduler):
            raise RuntimeError(
                "the scheduler runs without a dashboard: start it with dashboard=True, or without "
                "--no-dashboard"
            )


def attach(scheduler: Any) -> bool:
    """Record, and serve the page where the scheduler has a dashboard; whether it has."""
    Recorder.of(scheduler)
    if not can_draw():
        return False
    from daskbfs.dashboard.serving import serve

    return serve(scheduler)


def dask_setup(scheduler: Any) -> None:
    """What Dask calls when this module is preloaded: without a dashboard, only record."""
    attach(scheduler)
