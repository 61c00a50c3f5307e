"""Our documents beside those of Dask's own dashboard, under the same prefix.

A document belongs to one browser: two never share a bokeh model. Only the list that JupyterLab
reads needs a private attribute of Dask's; where that is gone, the list is left alone.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bokeh.server.tornado import BokehTornado
from distributed.dashboard.components.scheduler import BOKEH_THEME, env
from distributed.dashboard.core import BokehApplication
from distributed.dashboard.scheduler import template_variables
from tornado.ioloop import IOLoop

from daskbfs.dashboard import PAGE
from daskbfs.dashboard.view import PANES, View

_INTERVAL_MS = 250


def serve(scheduler: Any) -> bool:
    """Add the page, its tab and its panes, once; whether there is a dashboard to add them to."""
    stock = [app for app in scheduler.http_application.applications if _is_bokeh(app)]
    if not stock:
        return False
    if any(f"/{PAGE}" in app.app_paths for app in stock):
        return True
    variables = template_variables(scheduler)
    panes = {f"/individual-{PAGE}-{name}": partial(_pane_doc, name) for name in PANES}
    ours = BokehApplication(
        {f"/{PAGE}": _page_doc} | panes,
        scheduler,
        prefix=stock[0].prefix,
        template_variables=variables,
    )
    scheduler.http_application.add_application(ours)
    ours.initialize(IOLoop.current())
    ours.start()
    variables["pages"].insert(1, PAGE)  # the lists that Dask's pages read, too
    for url in panes:
        variables["plots"].append(
            {"url": url.strip("/"), "name": " ".join(url.split("-")[1:]).title()}
        )
    variables["plots"].sort(key=lambda plot: plot["name"])
    _list_panes(stock[0], ours)
    return True


def _is_bokeh(app: Any) -> bool:
    return isinstance(app, BokehTornado)


def _list_panes(stock: Any, ours: Any) -> None:
    """Name our panes where JupyterLab's extension asks: it looks at Dask's own application only."""
    known, added = getattr(stock, "_applications", None), getattr(ours, "_applications", None)
    if isinstance(known, dict) and isinstance(added, dict):
        known |= {path: found for path, found in added.items() if path != f"/{PAGE}"}


def _page_doc(scheduler: Any, extra: dict[str, Any], doc: Any) -> None:
    """The whole page."""
    doc.title = "Dask: BFS"
    doc.template = env.get_template("simple.html")
    doc.template_variables.update(extra)
    _start(doc, View(scheduler, tuple(PANES)))


def _pane_doc(name: str, scheduler: Any, extra: dict[str, Any], doc: Any) -> None:
    """One pane that fills its place, for JupyterLab."""
    doc.title = f"Dask: BFS {name}"
    _start(doc, View(scheduler, (name,)))


def _start(doc: Any, view: View) -> None:
    doc.add_root(view.root)
    doc.theme = BOKEH_THEME
    view.update()
    doc.add_periodic_callback(view.keep_up, _INTERVAL_MS)
