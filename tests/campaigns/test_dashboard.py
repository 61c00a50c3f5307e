"""The page on the scheduler's dashboard, in a real browser against real schedulers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import dask
import numpy as np
import pytest
from distributed import LocalCluster

import daskbfs
from daskbfs.dashboard import page_link
from daskbfs.dashboard.view import PANES
from tests.support.browser import Page, chromium
from tests.support.crew import Crew
from tests.support.exchange import exchange_by

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("on_the_cluster")]

SEARCH = """
import json, sys, daskbfs
from distributed import Client
with Client(sys.argv[1], set_as_default=False) as client:
    graph = daskbfs.distribute(daskbfs.kronecker(scale=10), client)
    results = []
    for source in graph.random_sources(int(sys.argv[2])):
        result = daskbfs.bfs(graph, int(source))
        results.append(result.to_dict())
    print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def crew(tmp_path_factory):
    """A scheduler that knows nothing of us, and two workers."""
    with contextlib.closing(Crew(2, tmp_path_factory.mktemp("crew"))) as crew:
        yield crew


@contextlib.contextmanager
def opened(browser, url, **size):
    page = Page(browser, url, **size)
    try:
        yield page
    except BaseException:
        page.complaints = []  # what failed first is told
        raise
    finally:
        page.close()


def run_elsewhere(crew, n_searches):
    """Searches by another process; returns what its results say."""
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, crew.client.scheduler.address, str(n_searches)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=crew.folder,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def expected_records(levels):
    """What the table of levels must show of ``result.levels``."""
    return {
        "level": [row["level"] for row in levels],
        "direction": [row["direction"].replace("_", "-") for row in levels],
        "device": [row["device"] for row in levels],
        "partition": [row["partition"] for row in levels],
        "frontier_vertices": [row["frontier_vertices"] for row in levels],
        "edges_examined": [row["edges_examined"] for row in levels],
        "kernel_ms": pytest.approx([row["kernel_seconds"] * 1e3 for row in levels]),
        "exchanged_bytes": [row["exchanged_bytes"] for row in levels],
    }


def check_numbers(page, trial):
    """The page says what the result says, in its sources and in its cells."""
    records = page.data("records")
    for column, values in expected_records(trial["levels"]).items():
        assert records[column] == values, column
    bars = page.data("levels-time")
    by_level = {}
    for row in trial["levels"]:
        by_level[row["level"]] = by_level.get(row["level"], 0) + row["kernel_seconds"] * 1e3
    assert bars["level"] == list(by_level)
    assert bars["cpu"] == pytest.approx(list(by_level.values()))
    phases = page.data("phases")
    shown = dict(zip(phases["phase"], phases["ms"], strict=True))
    for name, seconds in trial["phases"].items():
        assert shown[name] == pytest.approx(seconds * 1e3)
    assert sum(shown.values()) == pytest.approx(trial["seconds"] * 1e3)
    frontier = page.data("levels-frontier")
    assert frontier["frontier"] == [row["frontier_vertices"] for row in trial["levels"][::2]]
    for row in trial["levels"][:4]:
        page.until_cell(row["frontier_vertices"])
        page.until_cell(row["kernel_seconds"] * 1e3)


def test_the_page_is_installed_at_run_time_and_follows_searches_of_others(crew, browser):
    link = daskbfs.install_dashboard(crew.client)
    assert daskbfs.install_dashboard(crew.client) == link  # once more does no harm
    with opened(browser, crew.client.dashboard_link) as page:
        page.tab.locator("a[href='bfs']").first.click()
        page.tab.wait_for_url("**/bfs")
        page.until_headline("No searches yet.")
        page.screenshot("empty")
        (trial,) = run_elsewhere(crew, 1)
        page.until_headline(f"kron:10 from {trial['source']}: {trial['n_levels']} levels")
        check_numbers(page, trial)
        searches = page.data("searches")
        assert searches["subject"] == [f"from {trial['source']}"]
        assert searches["mteps"] == pytest.approx([trial["teps"] / 1e6], rel=0.01)
        assert searches["ms"] == pytest.approx([trial["seconds"] * 1e3])
        page.screenshot("one-search")


def test_a_click_chooses_a_search_until_the_newest_is_wanted_again(crew, browser):
    daskbfs.install_dashboard(crew.client)
    with opened(browser, page_link(crew.client)) as page:
        trials = run_elsewhere(crew, 3)
        page.until_headline(f"from {trials[-1]['source']}:")
        page.tab.locator(".slick-row", has_text=str(trials[0]["source"])).first.click()
        page.until_headline(f"from {trials[0]['source']}:")
        check_numbers(page, trials[0])
        (newer,) = run_elsewhere(crew, 1)
        page.tab.wait_for_timeout(1200)
        page.until_headline(f"kron:10 from {trials[0]['source']}:")
        page.tab.get_by_text("Follow the newest").click()
        page.until_headline(f"kron:10 from {newer['source']}:")


def test_two_browsers_see_the_same(crew, browser):
    link = daskbfs.install_dashboard(crew.client)
    with opened(browser, link) as one, opened(browser, link) as other:
        (trial,) = run_elsewhere(crew, 1)
        for page in (one, other):
            page.until_headline(f"kron:10 from {trial['source']}:")
        assert one.data("records") == other.data("records")


@pytest.mark.parametrize("pane", PANES)
def test_every_pane_stands_alone_for_jupyterlab(crew, browser, pane):
    link = daskbfs.install_dashboard(crew.client)
    base = link.removesuffix("/bfs")
    listed = json.loads(urllib.request.urlopen(f"{base}/individual-plots.json", timeout=10).read())
    assert listed[f"Individual Bfs {pane.title()}"] == f"/individual-bfs-{pane}"
    with opened(browser, f"{base}/individual-bfs-{pane}", width=700, height=420) as page:
        page.until("() => document.querySelector('.bk-Figure, .bk-DataTable')")
        page.screenshot(f"pane-{pane}")


@pytest.mark.parametrize("prefix", ["", "/behind/a/proxy"])
def test_the_page_is_preloaded_also_under_a_prefix(tmp_path, browser, prefix):
    options = ["--preload", "daskbfs.dashboard"]
    options += [f"--dashboard-prefix={prefix}"] if prefix else []
    crew = Crew(2, tmp_path, scheduler_options=options)
    try:
        port = crew.client.scheduler_info()["services"]["dashboard"]
        with opened(browser, f"http://127.0.0.1:{port}{prefix}/status") as page:
            page.tab.locator("a[href='bfs']").first.click()
            page.tab.wait_for_url(f"**{prefix}/bfs")
            (trial,) = run_elsewhere(crew, 1)
            page.until_headline(f"kron:10 from {trial['source']}:")
            check_numbers(page, trial)
            page.tab.goto(f"http://127.0.0.1:{port}{prefix}/individual-bfs-levels")
            page.until("() => document.querySelector('.bk-Figure')")
    finally:
        crew.close()


def test_a_running_search_is_seen_before_it_ends(browser):
    path = daskbfs.from_edges(np.arange(1500)[:, None] + [0, 1], name="path")
    with (
        dask.config.set({"daskbfs.telemetry.levels": 800}),
        exchange_by("mail"),  # which takes long
        daskbfs.local_cluster(2) as cluster,
        cluster.get_client() as client,
    ):
        placed = daskbfs.distribute(path, client)
        daskbfs.bfs(placed, 300, depth_limit=2)  # warm
        with opened(browser, page_link(client)) as page:
            page.until_headline("path from 300:")
            with ThreadPoolExecutor(1) as pool:
                searching = pool.submit(daskbfs.bfs, placed, 0)
                page.until_headline(", running")
                seen = max(page.data("records")["level"])
                while max(page.data("records")["level"]) <= seen:
                    page.tab.wait_for_timeout(50)
                assert not searching.done()
                page.screenshot("running")
                result = searching.result(timeout=120)
            page.until_headline(f"{result.levels.n_levels} levels")
            page.until_headline("this shows the first and the last")
            page.screenshot("many-levels")


HTML = "<img src=x onerror=\"window.hacked=1\"><b>bold</b> & '$x$' $$x^2$$"


def test_html_in_a_graphs_name_stays_text(browser):
    graph = daskbfs.from_edges([(i, i + 1) for i in range(20)], name=HTML)
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(graph, client)
        daskbfs.bfs(placed, 0)
        with opened(browser, page_link(client)) as page:
            page.until_headline(f"{HTML} from 0:")
            assert page.data("searches")["graph"] == [HTML]
            cells = page.tab.locator(".slick-cell").all_inner_texts()
            assert cells.count(HTML) >= 3  # in the tables of searches and partitions
            page.tab.wait_for_timeout(500)
            assert page.tab.evaluate("window.hacked") is None
            assert page.tab.locator("img[src='x']").count() == 0
            page.screenshot("html-in-a-name")


def test_emulated_devices_are_called_so(browser):
    with (
        daskbfs.HybridCluster(1, gpus=0, emulated_gpus=1) as cluster,
        cluster.get_client() as client,
        opened(browser, page_link(client)) as page,
    ):
        placed = daskbfs.distribute(daskbfs.kronecker(12), client, strategy="high")
        result = daskbfs.bfs(placed, int(placed.random_sources(1)[0]))
        page.until_headline("no time here is a GPU's")
        bars = page.data("levels-time")
        for device in ("cpu", "gpu-emulated"):
            mine = [r.kernel_seconds * 1e3 for r in result.levels if r.device == device]
            assert bars[device] == pytest.approx(mine)
        assert set(bars["gpu"]) == {0}
        devices = page.data("devices")
        assert devices["device"] == ["cpu", "gpu-emulated"]
        assert devices["worker"] == ["cpu-0", "gpu-emulated-0"]
        for column, attribute in (("edges", "edges_examined"), ("bytes", "exchanged_bytes")):
            mine = [
                sum(getattr(r, attribute) for r in result.levels if r.partition == p)
                for p in (0, 1)
            ]
            assert devices[column] == mine
        page.screenshot("hybrid")


def test_a_thousand_searches(browser, kron12):
    with daskbfs.local_cluster() as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(kron12, client)
        sources = [int(v) for v in kron12.random_sources(40)]
        for i in range(1050):
            result = daskbfs.bfs(placed, sources[i % 40])
        with opened(browser, page_link(client)) as page:
            page.until_headline(f"kron:12 from {result.source}:")
            assert len(page.data("searches")["subject"]) == 1000
            check = page.data("records")["frontier_vertices"]
            assert check == [record.frontier_vertices for record in result.levels]
            page.screenshot("thousand-searches")
            again = daskbfs.bfs(placed, sources[3])
            page.until_headline(f"kron:12 from {again.source}:")


def test_thirty_workers(browser, kron12):
    with (
        LocalCluster(
            n_workers=30,
            processes=False,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address=":0",
        ) as cluster,
        cluster.get_client() as client,
    ):
        link = daskbfs.install_dashboard(client)
        placed = daskbfs.distribute(kron12, client)
        result = daskbfs.bfs(placed, int(kron12.random_sources(1)[0]))
        with opened(browser, link, height=2200) as page:
            page.until_headline(f"kron:12 from {result.source}:")
            assert len(page.data("devices")["worker"]) == 30
            assert len(page.data("partitions")["worker"]) == 30
            page.screenshot("thirty-workers")


def test_a_scheduler_without_a_dashboard_says_so():
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=None) as cluster,
        cluster.get_client() as client,
        pytest.raises(RuntimeError, match="the scheduler runs without a dashboard: start it"),
    ):
        daskbfs.install_dashboard(client)
