"""What a scheduler remembers of searches: from real reports, and from bad ones."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter

import dask
import msgpack
import numpy as np
import pytest
from distributed import LocalCluster

import daskbfs
from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import LevelRecord, LevelTable, Phases, Sum
from daskbfs.telemetry.recorder import OP, Recorder
from daskbfs.telemetry.records import About, GraphRecord, PartitionRecord, RunRecord, State
from tests.support.crew import Crew
from tests.support.exchange import exchange_by
from tests.support.in_loop import cluster

pytestmark = pytest.mark.usefixtures("on_the_cluster")
CPU, GPU, EMULATED = Device
numbers = itertools.count()


def table(n_levels, worker="tcp://1"):
    return LevelTable(
        [
            LevelRecord(i, Direction.TOP_DOWN, CPU, 0, worker, 5, 7, 0.5, 20, 9)
            for i in range(n_levels)
        ]
    )


def search(n_levels=3, **changes):
    about = About(
        f"run-{next(numbers)}", "client", "bfs", "graph", "from 1", "waves", 1000.0
    )._replace(**changes)
    return RunRecord.done(about, table(n_levels), Phases(compute=1.5), 2.0, 100, 2000)


@pytest.fixture
def recorder():
    made = Recorder()

    class Scheduler:
        tasks = {}
        clients = {"client": None, "gone": None, "here": None}

    made.scheduler = Scheduler()
    return made


def until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)
    return found


def test_records_survive_the_wire():
    record = search()
    assert record.sums == (Sum(CPU, Direction.TOP_DOWN, 3, 21, 1.5, 60),)
    assert record.teps == 50
    read = RunRecord.from_wire(msgpack.unpackb(msgpack.packb(record.to_wire())))
    assert read == record
    assert list(read.levels) == list(table(3))
    assert read.sums[0].device is CPU
    part = PartitionRecord(0, ("pin_partition", "run", 0), "tcp://1", EMULATED, 5, 8, 100)
    graph = GraphRecord("name", "label", "client", 9, 4, 0, (part,))
    assert GraphRecord.from_wire(json.loads(json.dumps(graph.to_wire()))) == graph


def test_the_newest_searches_are_kept_and_memory_is_bounded(recorder):
    n_bytes = len(table(6).pack())
    limits = {"daskbfs.telemetry.searches": 5, "daskbfs.telemetry.bytes": 3 * n_bytes + 1}
    with dask.config.set(limits):
        runs = [search(n_levels=6) for _ in range(8)]
        for record in runs:
            recorder.receive("run", record.to_wire(), client="client")
    kept = recorder.runs()
    assert [record.about for record in kept] == [record.about for record in runs[:2:-1]]
    assert [len(record.levels) for record in kept] == [6, 6, 6, 0, 0]
    assert kept[-1].n_levels == 6
    assert recorder.run(runs[0].about.run) is None
    assert recorder.totals.runs == {("bfs", "waves", State.DONE): 8}
    assert recorder.totals.sums["bfs"][CPU, Direction.TOP_DOWN].levels == 48
    assert recorder.version == 8


def test_of_a_search_with_very_many_levels_the_ends_are_kept():
    about = About("run", "client", "bfs", "graph", "from 1", "waves", 1000.0)
    record = RunRecord.done(about, table(5000), Phases(), 2.0, 100, 200)
    assert len(record.levels) == 200
    assert [r.level for r in record.levels][99:101] == [99, 4900]
    assert len(record.shorten(0).levels) == 0
    assert record.n_levels == 5000
    assert record.kernel_seconds == 2500
    assert record.sums[0].levels == 5000


def test_a_running_search_grows_until_it_ends(recorder):
    about = About("run", "client", "bfs", "graph", "from 1", "waves", time.time())
    for seconds, levels in ((0.5, table(2)), (1.5, table(4)[2:])):
        packed = levels.pack()
        recorder.receive("running", list(about), seconds=seconds, packed=packed, worker="tcp://1")
    (record,) = recorder.runs()
    assert (record.state, record.n_levels, len(record.levels)) == (State.RUNNING, 4, 4)
    assert record.seconds == 1.5
    assert record.kernel_seconds == 2.0
    done = RunRecord.done(about, table(6), Phases(), 2.0, 100, 2000)
    recorder.receive("run", done.to_wire(), client="client")
    late = table(5).pack()
    recorder.receive("running", list(about), seconds=1.9, packed=late, worker="tcp://1")
    (record,) = recorder.runs()
    assert (record.state, record.n_levels, len(record.levels)) == (State.DONE, 6, 6)


def test_a_running_search_fails_with_its_client(recorder):
    packed = table(1).pack()
    for client in ("gone", "here"):
        about = About(client, client, "bfs", "graph", "from 1", "waves", time.time())
        recorder.receive("running", list(about), seconds=0.5, packed=packed, worker="tcp://1")
    del recorder.scheduler.clients["gone"]
    recorder.remove_client(None, "gone")
    late = About("late", "gone", "bfs", "graph", "from 1", "waves", time.time())
    recorder.receive("running", list(late), seconds=0.5, packed=packed, worker="tcp://1")
    assert recorder.run("gone").state is State.FAILED
    assert recorder.run("gone").error == "its client is gone"
    assert recorder.run("gone").seconds == 0.5
    assert recorder.run("here").state is State.RUNNING
    assert recorder.run("late") is None
    assert recorder.totals.runs == {("bfs", "waves", State.FAILED): 1}


def test_levels_are_cut_as_a_whole_and_the_scheduler_has_its_own_limit(recorder):
    wide = LevelTable(
        [
            LevelRecord(i, Direction.TOP_DOWN, CPU, p, f"tcp://{p}", 5, 7, 0.5, 20, 9)
            for i in range(12)
            for p in range(40)
        ]
    )
    kept = wide.ends(170)
    assert list(kept.by_level()) == [0, 1, 10, 11]
    assert len(kept) == 160
    assert list(wide.ends(199).by_level()) == [0, 1, 10, 11]
    assert list(wide.ends(200).by_level()) == [0, 1, 2, 10, 11]
    assert list(wide.ends(30).by_level()) == [0]
    assert wide.ends(480) is wide
    about = About("run", "client", "bfs", "graph", "from 1", "waves", 1000.0)
    record = RunRecord.done(about, wide, Phases(), 2.0, 100, 10**6)
    with dask.config.set({"daskbfs.telemetry.levels": 80}):
        recorder.receive("run", record.to_wire(), client="client")
    assert list(recorder.run("run").levels.by_level()) == [0, 11]
    assert recorder.run("run").n_levels == 12


@pytest.mark.parametrize(
    "report",
    [
        {"kind": "run", "record": {}},
        {"kind": "run", "record": {"run": "x"}},
        {"kind": "run", "record": search().to_wire() | {"another_version": 1}},
        {"kind": "running", "record": ["too", "few"], "seconds": 1.0, "packed": b""},
        {"kind": "graph", "record": {"name": "g", "more": 1, "partitions": []}},
        {"kind": "nonsense", "record": None},
    ],
)
def test_an_unreadable_report_is_dropped(recorder, report, caplog):
    recorder.receive(**report, client="client")
    assert "could not be read" in caplog.text
    assert recorder.runs() == recorder.graphs() == []
    recorder.receive("run", search().to_wire(), client="client")
    assert len(recorder.runs()) == 1


def test_levels_of_another_version_are_left_out(recorder, caplog):
    strange = search().to_wire() | {"packed": msgpack.packb([(1, 2, 3)])}
    recorder.receive("run", strange, client="client")
    (record,) = recorder.runs()
    assert (record.n_levels, len(record.levels)) == (3, 0)
    assert "cannot be read" in caplog.text


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("driver", ["waves", "resident"])
@pytest.mark.parametrize("n_workers", [1, 2])
def test_the_scheduler_knows_what_the_result_knows(kron12, driver, n_workers):
    with daskbfs.local_cluster(n_workers) as cluster, cluster.get_client() as client:
        recorder = Recorder.of(cluster.scheduler)
        placed = daskbfs.distribute(kron12, client, n_partitions=3)
        (graph,) = until(recorder.graphs)
        assert graph.label == kron12.name
        assert [part.worker for part in graph.partitions] == list(placed.placement.holders)
        assert sum(part.n_vertices for part in graph.partitions) == kron12.n_rows
        assert sum(part.n_edges for part in graph.partitions) == kron12.n_arcs
        source = int(kron12.random_sources(1)[0])
        result = daskbfs.bfs(placed, source, driver=driver)
        (record,) = until(lambda: [s for s in recorder.runs() if s.state is State.DONE])
        assert list(record.levels) == list(result.levels)
        assert record.phases == result.phases
        assert (record.about.subject, record.about.driver, record.state) == (
            f"from {source}",
            driver,
            State.DONE,
        )
        assert record.seconds == result.seconds
        assert record.kernel_seconds == pytest.approx(result.kernel_seconds)
        assert record.teps == pytest.approx(result.teps, rel=0.01)
        assert result.levels[0].scout_count == kron12.degree(kron12.row_of(source))
        placed.release()
        until(lambda: not recorder.graphs())


@pytest.mark.slow
def test_a_failed_attempt_is_told_with_its_reason():
    path = daskbfs.from_edges(np.arange(9000)[:, None] + [0, 1])
    with (
        exchange_by("mail"),  # which takes long
        daskbfs.local_cluster(2) as cluster,
        cluster.get_client() as client,
    ):
        recorder = Recorder.of(cluster.scheduler)
        placed = daskbfs.distribute(path, client)
        daskbfs.bfs(placed, 0, depth_limit=2)  # warm
        with pytest.raises(TimeoutError):
            daskbfs.bfs(placed, 0, timeout=1.5)
        record = until(lambda: [s for s in recorder.runs() if s.state is State.FAILED])[0]
        assert record.error == "cancelled, or out of time"
        assert record.n_levels > 0, "it was heard of while it ran"
        assert 1.4 < record.seconds < 5


@pytest.mark.slow
def test_a_long_search_is_heard_of_while_it_runs():
    path = daskbfs.from_edges(np.arange(600)[:, None] + [0, 1])
    with (
        exchange_by("mail"),  # which takes long
        dask.config.set({"daskbfs.telemetry.live-seconds": 0.1}),
        daskbfs.local_cluster(2) as cluster,
        cluster.get_client() as client,
    ):
        recorder = Recorder.of(cluster.scheduler)
        placed = daskbfs.distribute(path, client)
        seen = []
        keep = recorder._keep

        def watch(record):
            seen.append(record)
            keep(record)

        recorder._keep = watch
        result = daskbfs.bfs(placed, 0)
        until(lambda: seen[-1].state is State.DONE)
        *running, last = seen
        assert len(running) >= 3
        assert all(record.state is State.RUNNING for record in running)
        grown = [record.n_levels for record in running]
        assert grown == sorted(grown)
        assert grown[0] < grown[-1] <= result.levels.n_levels == last.n_levels == 601


def scraped(client):
    """The text of a scheduler's metrics, and the values of ours."""
    url = client.dashboard_link.replace("/status", "/metrics")
    text = urllib.request.urlopen(url, timeout=10).read().decode()
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("daskbfs_")]
    return text, Counter({name: float(value) for name, value in lines})


@pytest.mark.parametrize("driver", ["resident", "waves"])
def test_pagerank_is_reported_as_searches_are(kron12, driver):
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        _, before = scraped(client)
        result = daskbfs.pagerank(kron12, client, iterations=5, driver=driver)
        recorder = Recorder.of(cluster.scheduler)
        record = until(lambda: [r for r in recorder.runs() if r.state is State.DONE])[0]
        _, values = scraped(client)
    about = record.about
    assert (about.algorithm, about.subject, about.driver) == ("pagerank", "", driver)
    assert record.n_levels == 6
    assert {level.direction for level in record.levels} == {None}
    assert record.edges == 5 * kron12.n_edges
    assert record.teps == pytest.approx(result.edges_per_second)
    values.subtract(before)
    kind = f'algorithm="pagerank",driver="{driver}",state="done"'
    assert values[f"daskbfs_searches_total{{{kind}}}"] == 1
    kind = 'algorithm="pagerank",device="cpu",direction=""'
    assert values[f"daskbfs_levels_total{{{kind}}}"] == 6


def test_prometheus_gets_series_with_the_usual_names(kron12):
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        _, before = scraped(client)  # other schedulers of this process may have counted
        placed = daskbfs.distribute(kron12, client)
        results = [daskbfs.bfs(placed, int(v)) for v in kron12.random_sources(3)]
        recorder = Recorder.of(cluster.scheduler)
        until(lambda: [s.state for s in recorder.runs()] == [State.DONE] * 3)
        text, values = scraped(client)
    values.subtract(before)
    assert values['daskbfs_searches_total{algorithm="bfs",driver="waves",state="done"}'] == 3
    assert values['daskbfs_search_failures_total{algorithm="bfs"}'] == 0
    assert values['daskbfs_search_seconds_total{algorithm="bfs"}'] == pytest.approx(
        sum(r.seconds for r in results)
    )
    for direction in Direction:
        mine = [r for result in results for r in result.levels if r.direction is direction]
        labels = f'{{algorithm="bfs",device="cpu",direction="{direction}"}}'
        edges = sum(record.edges_examined for record in mine)
        seconds = sum(record.kernel_seconds for record in mine)
        n_bytes = sum(record.exchanged_bytes for record in mine)
        assert values[f"daskbfs_edges_examined_total{labels}"] == edges
        assert values[f"daskbfs_kernel_seconds_total{labels}"] == pytest.approx(seconds)
        assert values[f"daskbfs_exchanged_bytes_total{labels}"] == n_bytes
        assert values[f"daskbfs_levels_total{labels}"] == len(mine) / 2
    assert values['daskbfs_partitions{device="cpu"}'] == 2
    assert "# HELP daskbfs_searches_total Runs that are over." in text
    assert "# TYPE daskbfs_kernel_seconds_total counter" in text


@pytest.mark.slow
@pytest.mark.oldest
@pytest.mark.parametrize("driver", ["waves", "resident"])
def test_dasks_own_metrics_are_split_by_direction_and_device(kron12, driver):
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(kron12, client)
        result = daskbfs.bfs(placed, int(kron12.random_sources(1)[0]), driver=driver)
        spans = cluster.scheduler.extensions["spans"]

        def metered():
            (span,) = [s for s in spans.spans.values() if s.name == ("daskbfs", kron12.name)]
            found = {}
            for (_, _, label, unit), seconds in span.cumulative_worker_metrics.items():
                if " on cpu" in str(label):
                    assert unit == "seconds"
                    found[label] = found.get(label, 0) + seconds
            return found

        expected = {
            f"{direction.replace('_', '-')} on cpu": pytest.approx(
                sum(r.kernel_seconds for r in result.levels if r.direction is direction)
            )
            for direction in Direction
        }
        until(lambda: metered() == expected)  # workers tell it with their heartbeats


def test_each_graph_has_a_span_of_its_own_and_searches_begin_none(kron12):
    with daskbfs.local_cluster() as cluster, cluster.get_client() as client:
        spans = cluster.scheduler.extensions["spans"]
        graphs = [daskbfs.distribute(kron12, client), daskbfs.distribute("kron:9", client)]
        for graph in graphs:
            for source in graph.random_sources(5):
                daskbfs.bfs(graph, int(source))
        names = sorted(s.name for s in spans.spans.values() if s.name[0] == "daskbfs")
        assert names == [("daskbfs",)] * 2 + [("daskbfs", "kron:12"), ("daskbfs", "kron:9")]


def test_without_telemetry_nothing_is_told(kron12):
    with (
        dask.config.set({"daskbfs.telemetry.enabled": False}),
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        cluster.get_client() as client,
    ):
        placed = daskbfs.distribute(kron12, client)
        source = int(kron12.random_sources(1)[0])
        assert daskbfs.bfs(placed, source).reached > 100
        assert Recorder.name not in cluster.scheduler.plugins
        assert OP not in cluster.scheduler.stream_handlers
        names = {span.name[0] for span in cluster.scheduler.extensions["spans"].spans.values()}
        assert "daskbfs" not in names


REFUSING = """
from daskbfs.telemetry.recorder import Recorder

async def start(self, scheduler):
    raise RuntimeError("no plug-ins here")

Recorder.start = start
"""


@pytest.mark.slow
def test_a_scheduler_that_cannot_record_is_not_told(kron12, tmp_path):
    preload = tmp_path / "refusing.py"
    preload.write_text(REFUSING)
    crew = Crew(2, tmp_path, scheduler_options=["--preload", str(preload)])
    try:
        placed = daskbfs.distribute(kron12, crew.client)
        assert placed.placed_partitions.reporter is None
        source = int(kron12.random_sources(1)[0])
        for _ in range(3):
            assert daskbfs.bfs(placed, source).reached > 100
        assert crew.client.status == "running"
    finally:
        crew.close()


@cluster(2)
async def test_reports_of_asynchronous_clients_arrive(c, s, a, b):
    graph = daskbfs.kronecker(8)
    placed = await daskbfs.distribute(graph, c)
    for source in graph.random_sources(3):
        await daskbfs.bfs(placed, int(source), driver="waves")
    await c.close()  # the last report goes with the farewell
    assert len(Recorder.of(s).runs()) == 3


LAST_WORDS = """
import sys, daskbfs
from distributed import Client
with Client(sys.argv[1]) as client:
    graph = daskbfs.distribute(daskbfs.kronecker(8), client)
    daskbfs.bfs(graph, int(graph.random_sources(1)[0]))
"""


@pytest.mark.slow
def test_a_script_that_ends_at_once_is_still_heard_of(tmp_path):
    with daskbfs.local_cluster(2) as cluster:
        words = [sys.executable, "-c", LAST_WORDS, cluster.scheduler_address]
        subprocess.run(words, check=True, timeout=120, cwd=tmp_path)
        assert len(until(Recorder.of(cluster.scheduler).runs)) == 1


NAMES = ["gr\udcffaph.el", 42, "x" * 10_000, None]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES, ids=["half a character", "no text", "long", "nothing"])
def test_no_name_of_a_graph_breaks_a_search(name):
    graph = daskbfs.from_edges([(0, 1), (1, 2)], name=name)
    with daskbfs.local_cluster(2) as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(graph, client)
        for _ in range(2):
            assert daskbfs.bfs(placed, 0).reached == 3
        recorder = Recorder.of(cluster.scheduler)
        until(lambda: len(recorder.runs()) == 2)
        assert client.status == "running"
        assert len(recorder.runs()[0].about.graph) <= 500


def test_a_report_that_cannot_be_made_does_not_cost_the_result(kron12, caplog):
    with daskbfs.local_cluster() as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(kron12, client)
        with dask.config.set({"daskbfs.telemetry.levels": "many"}):
            assert daskbfs.bfs(placed, int(kron12.random_sources(1)[0])).reached > 100
    assert "a run could not be reported" in caplog.text


def test_telemetry_is_switched_off_for_graphs_that_are_there(kron12):
    with daskbfs.local_cluster() as cluster, cluster.get_client() as client:
        placed = daskbfs.distribute(kron12, client)
        source = int(kron12.random_sources(1)[0])
        with dask.config.set({"daskbfs.telemetry.enabled": False}):
            daskbfs.bfs(placed, source)
        daskbfs.bfs(placed, source)
        recorder = Recorder.of(cluster.scheduler)
        until(recorder.runs)
        time.sleep(0.5)
        assert len(recorder.runs()) == 1


def n_searches(dask_scheduler):
    return len(Recorder.of(dask_scheduler).runs())


@pytest.mark.slow
def test_a_scheduler_that_was_started_again_is_not_told_what_it_does_not_know(tmp_path):
    crew = Crew(2, tmp_path)
    try:
        port = int(crew.client.scheduler.address.rsplit(":", 1)[1])
        placed = daskbfs.distribute("kron:8", crew.client)
        source = int(placed.random_sources(1)[0])
        daskbfs.bfs(placed, source)
        reporter = placed.placed_partitions.reporter
        crew.scheduler.kill()
        crew.scheduler.wait()
        crew.file.unlink()
        crew.start_scheduler(port)
        until(lambda: crew.client.status == "running", seconds=30)
        crew.restore(2)
        reporter.run(search())
        crew.client.loop.add_callback(reporter._nudge)
        time.sleep(1)
        assert crew.client.submit(sum, [1, 2]).result(timeout=30) == 3
        assert daskbfs.bfs(placed, source, timeout=60).reached > 10
        until(lambda: crew.client.run_on_scheduler(n_searches) == 1)
    finally:
        crew.close()


PRELOAD = """
import click

@click.command()
@click.argument("word")
async def dask_setup(scheduler, word):
    scheduler.preloaded_word = word
"""


def test_what_a_scheduler_preloads_anyway_stays(tmp_path):
    (tmp_path / "mine.py").write_text(PRELOAD)
    configured = {
        "distributed.scheduler.preload": [str(tmp_path / "mine.py")],
        "distributed.scheduler.preload-argv": [["hello"]],
    }
    with dask.config.set(configured), daskbfs.local_cluster() as cluster:
        assert cluster.scheduler.preloaded_word == "hello"
        assert Recorder.name in cluster.scheduler.plugins


def test_without_a_dashboard_a_preloaded_scheduler_only_records(caplog):
    with daskbfs.local_cluster(scheduler_kwargs={"dashboard": False}) as cluster:
        assert Recorder.name in cluster.scheduler.plugins
    assert "Failed to start preload" not in caplog.text


@cluster(1, scheduler_kwargs={"dashboard": True, "dashboard_address": ":0"})
async def test_asynchronous_clients_await_the_installation(c, s, a):
    link = await daskbfs.install_dashboard(c)
    assert link.endswith("/bfs")
    assert [app for app in s.http_application.applications if "/bfs" in app.app_paths]
