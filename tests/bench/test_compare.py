"""Systems side by side: rows, pictures, failures, and the command."""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import replace

import numpy as np
import psutil
import pytest
from click.testing import CliRunner

from daskbfs.bench.systems import (
    catalogue as systems,
)
from daskbfs.bench.systems import (
    figures as side_figures,
)
from daskbfs.bench.systems import (
    race as side_by_side,
)
from daskbfs.bench.systems import (
    source_lines as lines,
)
from daskbfs.bench.systems.catalogue import Kernels, System, catalogue, choose_systems
from daskbfs.bench.systems.race import Course, Row, compare, measure
from daskbfs.cli import main
from daskbfs.cli.compare import expand_scales
from daskbfs.graph.generators import random_origin
from daskbfs.io.spec import open_origin
from daskbfs.names import Device

FIELDS = {
    "name", "paper", "device", "kernel1_seconds", "harmonic_mean_teps", "peak_bytes",
    "source_lines", "validated",
}  # fmt: skip


@pytest.fixture(scope="module")
def course():
    return Course.of(random_origin("kron", 8, 16, 1), 2, 1)


def run(*arguments):
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def test_every_paper_has_its_systems():
    found = catalogue()
    assert {s.paper for s in found.values()} == {"", "000", "001", "002", "004", "peer"}
    five = {"cpu-list", "cpu-csr", "gpu-csr", "gpu-out-of-core", "linear-algebra-1"}
    assert five <= set(found)
    assert all(s.about for s in found.values())
    assert {s.name for s in choose_systems(["cpu-*"], [])} == {"cpu-list", "cpu-csr"}
    assert {s.paper for s in choose_systems([], ["001"])} == {"001"}
    assert "scipy" in {s.name for s in choose_systems(["cpu-csr"], [], peers=True)}
    assert [s.name for s in choose_systems(["scipy"], [])] == ["scipy"]
    with pytest.raises(ValueError, match="no system is called 'gpu-cs'"):
        choose_systems(["gpu-cs"], [])
    with pytest.raises(ValueError, match="no system of paper 004 is called daskbfs"):
        choose_systems(["daskbfs"], ["004"])


IN_PROCESS = [n for n, s in catalogue().items() if s.devices == (Device.CPU,) and s.paper != "peer"]


@pytest.mark.parametrize("name", [*IN_PROCESS, "gpu-csr", "gpu-out-of-core"])
def test_systems_on_one_device_are_validated(name, course):
    found = measure(catalogue()[name], course, 60)
    assert found["validated"] is True
    assert found["harmonic_mean_teps"] > 0
    assert found["peak_bytes"] > 2**20
    assert len(found["kernel2_seconds"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["naive-top-down-2S", "do-2S-plain-vertices", "do-2S2G-random", "classic-low", "adaptive",
     "linear-algebra-2"],
)  # fmt: skip
def test_systems_on_several_workers_are_validated(name, course):
    (row,) = compare([course], [catalogue()[name]], timeout=120, apart=False)
    assert row.failure is None
    assert row.validated is True


@pytest.mark.slow
def test_rows_come_from_processes_of_their_own_and_have_the_contracts_fields(tmp_path):
    target, picture = tmp_path / "c.json", tmp_path / "c.png"
    done = run("kron:7..8", "--system", "cpu-*", "--trials", 2, "--json", target, "--plot", picture)
    assert done.exit_code == 0, done.output
    found = json.loads(target.read_text())
    assert [(row["name"], row["graph"]) for row in found["rows"]] == [
        (name, graph) for graph in ("kron:7", "kron:8") for name in ("cpu-list", "cpu-csr")
    ]
    for row in found["rows"]:
        assert row.keys() >= FIELDS
        assert row["validated"] is True
        assert row["harmonic_mean_teps"] > 0
        assert 10 < row["source_lines"] < 100
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert done.stdout.count("cpu-csr") == 2


def test_files_with_sparse_ids_are_compared_too(tmp_path):
    file = tmp_path / "sparse.el"
    file.write_text("\n".join(f"{10**12 + 7 * i} {10**12 + 7 * (i * i % 50)}" for i in range(50)))
    course = Course.of(open_origin(file, directed=False), 2, 1)
    assert measure(catalogue()["cpu-csr"], course, 60)["validated"] is True


def wrong(how):
    """A system that is wrong somehow."""

    def kernel2(made, source):
        if how == "raises":
            raise RuntimeError("no memory is left on the moon")
        parent = np.full(made.n_vertices, -1, np.int64)
        parent[source] = source
        return parent

    ready = Kernels(lambda edges: edges, kernel2)
    return System("wrong", "", (Device.CPU,), "wrong", lambda: contextlib.nullcontext(ready))


def test_a_wrong_tree_has_no_rate(course):
    found = measure(wrong("tree"), course, 60)
    assert found["validated"] is False
    assert "check 4 fails" in found["failure"]
    assert "harmonic_mean_teps" not in found


def test_a_system_that_takes_too_long_does_not_stop_the_others(course):
    rows = compare([course], choose_systems(["cpu-csr"], []), timeout=0.01)
    assert rows[0].failure == "not done after 0.01 s"
    assert rows[0].validated is None


def test_a_system_that_fails_says_why(monkeypatch, course):
    class Target:
        sent = []

        def send(self, found):
            self.sent.append(found)

        def close(self):
            pass

    monkeypatch.setattr(side_by_side, "catalogue", lambda c: {"wrong": wrong("raises")})
    monkeypatch.setattr(side_by_side, "_silence", lambda: None)
    side_by_side._report(Target(), "wrong", (), course, 60)
    assert Target.sent == [{"failure": "RuntimeError: no memory is left on the moon"}]


@pytest.mark.slow
def test_a_program_is_run_for_each_source(tmp_path):
    script = tmp_path / "bfs.py"
    script.write_text(
        "import sys\nassert open(sys.argv[1]).read()\nprint('Build Time:  0.5')\n"
        "print('Trial Time:  0.001')\nprint('Verification:  PASS')\n"
    )
    command = f"mine={sys.executable} {script} {{edges}} {{source}}"
    target = tmp_path / "c.json"
    done = run("kron:7", "--system", "cpu-csr", "--peer-command", command, "--json", target)
    assert done.exit_code == 0, done.output
    _, row = json.loads(target.read_text())["rows"]
    assert (row["name"], row["paper"], row["validated"]) == ("mine", "peer", True)
    assert row["kernel1_seconds"] == 0.5
    assert row["kernel2_seconds"] == [0.001] * 8
    assert row["harmonic_mean_teps"] > 1e5


@pytest.mark.slow
def test_a_program_that_hangs_is_ended_with_its_row(tmp_path):
    pid = tmp_path / "pid"
    script = tmp_path / "bfs.py"
    script.write_text(
        f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    command = f"slow={sys.executable} {script} {{edges}} {{source}}"
    done = run("kron:7", "--system", "cpu-csr", "--peer-command", command, "--timeout", 12)
    assert "not done after 12 s" in done.stdout or "was killed after" in done.stdout
    if pid.exists():  # a busy machine may not have come so far
        assert not psutil.pid_exists(int(pid.read_text()))


def test_parents_of_another_graph_are_wrong(course):
    system = wrong("tree")
    longer = Kernels(lambda edges: edges, lambda made, source: np.full(made.n_vertices, 10**9))
    system = replace(system, start=lambda: contextlib.nullcontext(longer))
    found = measure(system, course, 60)
    assert found["validated"] is False
    assert "of another graph" in found["failure"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kron:9..8",), "has no scale"),
        (("kron:8", "--directed"), "undirected graphs"),
        (("kron:8", "--system", "unknown"), "no system is called 'unknown'"),
        (("kron:8", "--peer-command", "gap"), "has no name or no command"),
        (("kron:8", "--plot", "x.doc"), "no suffix of a picture"),
        (("nowhere.el",), "nowhere.el"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, message):
    done = run(*arguments)
    assert done.exit_code in (1, 2)
    assert message in done.output
    assert "Traceback" not in done.output


def test_systems_can_be_listed():
    done = run("kron:8", "--list", "--paper", "004")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].split()[:3] == ["cpu-list", "004", "cpu"]


def test_a_range_of_scales():
    assert expand_scales("kron:14..16") == ["kron:14", "kron:15", "kron:16"]
    assert expand_scales("kron:14") == ["kron:14"]


def test_lines_are_lines_with_code():
    text = (
        '"""Two\n\nlines."""\n\n# no\nx = (\n    1,\n)\n\n\ndef f():\n    """No."""\n    return x\n'
    )
    assert lines.count(text) == 5
    assert lines.lines_of_search(direct=True) < lines.lines_of_search(direct=False)


ROWS = [
    Row("a", "004", "cpu", "kron:7", 7, 0.1, 1e8, 2**28, 50, True, [0.1]),
    Row("b", "004", "gpu-emulated", "kron:7", 7, 0.2, 1e7, 2**28, 80, True, [0.1]),
    Row("c", "", "cpu", "kron:7", 7, failure="not done after 1 s"),
]


def test_pictures_leave_out_who_failed_and_mark_what_is_emulated():
    figure = side_figures.picture(ROWS)
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["a", "b"]
    assert any("no GPU's time" in text.get_text() for text in figure.texts)
    later = [replace(row, graph="kron:8", scale=8) for row in ROWS]
    curves = side_figures.picture(ROWS + later)
    assert [text.get_text() for text in curves.legends[0].get_texts()] == ["a", "b"]
    with pytest.raises(ValueError, match="nothing to draw"):
        side_figures.picture(ROWS[2:])


def test_sockets_have_half_of_the_cores(monkeypatch):
    monkeypatch.setattr(systems.hardware, "n_cores", lambda: 8)
    assert systems.Setting(2).threads == 4
    assert systems.Setting(2, sockets=False).threads is None
