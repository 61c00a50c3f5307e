from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import daskbfs
from daskbfs.cli import main
from tests.support.crew import until

TRIAL = {
    "source", "seconds", "fetch_seconds", "kernel_seconds", "overhead_seconds", "n_levels",
    "reached", "edges", "teps", "phases", "levels",
}  # fmt: skip
LEVEL = {
    "level", "direction", "device", "partition", "worker", "frontier_vertices", "edges_examined",
    "kernel_seconds", "exchanged_bytes", "scout_count",
}  # fmt: skip
REPORT = {
    "daskbfs", "machine", "cluster", "graph", "driver", "strategy", "direction", "validated",
    "trials", "median_seconds", "harmonic_mean_teps",
}  # fmt: skip
GRAPH = {
    "name", "n_vertices", "n_edges", "directed", "bytes", "construction_seconds",
    "generation_seconds", "peak_bytes",
}  # fmt: skip


def invoke(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_run_keeps_the_json_contract(tmp_path):
    words = ["run", "kron:10", "--sources", 5, "--validate", "--json", tmp_path / "r.json"]
    done = invoke(*words, "--driver", "direct")
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert set(report) == REPORT
    assert set(report["graph"]) == GRAPH
    assert set(report["machine"]) == {"cpu", "cores", "memory_bytes", "python", "numba", "dask"}
    assert report["daskbfs"] == daskbfs.__version__
    assert report["cluster"] is None
    assert (report["driver"], report["direction"]) == ("direct", "beamer")
    assert report["validated"] is True
    assert report["graph"]["n_vertices"] == 1024
    assert report["graph"]["peak_bytes"] > report["graph"]["bytes"]
    assert len(report["trials"]) == 5
    for trial in report["trials"]:
        assert set(trial) == TRIAL
        assert trial["teps"] == pytest.approx(trial["edges"] / trial["seconds"])
        assert trial["overhead_seconds"] == pytest.approx(
            trial["seconds"] - trial["kernel_seconds"]
        )
        assert trial["n_levels"] == len(trial["levels"])
        for level in trial["levels"]:
            assert set(level) == LEVEL
    inverse = sum(1 / trial["teps"] for trial in report["trials"])
    assert report["harmonic_mean_teps"] == pytest.approx(5 / inverse)
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


@pytest.mark.parametrize(
    ("words", "driver", "n"), [([], "resident", 1), (["--workers", 2], "waves", 2)]
)
def test_run_on_a_cluster_of_its_own_keeps_the_contract_too(tmp_path, words, driver, n):
    words = ["run", "kron:10", "--sources", 2, "--validate", *words]
    done = invoke(*words, "--json", tmp_path / "r.json")
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert set(report) == REPORT
    assert (report["driver"], report["strategy"]) == (driver, "high")
    assert report["cluster"]["workers"] == n
    assert report["cluster"]["devices"] == {"cpu": n, "gpu": 0, "gpu-emulated": 0}
    assert report["validated"] is True
    for trial in report["trials"]:
        assert set(trial) == TRIAL
        assert trial["n_levels"] * n == len(trial["levels"])


def test_run_on_a_cluster_that_is_there():
    with daskbfs.local_cluster() as cluster:
        done = invoke("run", "kron:8", "--scheduler", cluster.scheduler_address, "--json", "-")
    assert json.loads(done.stdout)["cluster"]["workers"] == 1


def test_run_shows_a_table_and_the_rate():
    done = invoke("run", "kron:10", "--validate")
    assert "bottom-up" in done.output
    assert "TEPS (harmonic mean)" in done.output
    assert "every tree passed the five Graph500 checks" in done.output
    assert "1 search, median" in done.output


def test_json_on_standard_output_is_nothing_but_json():
    done = invoke("run", "kron:8", "--source", 0, "--source", 1, "--json", "-")
    report = json.loads(done.stdout)
    assert [trial["source"] for trial in report["trials"]] == [0, 1]
    assert report["validated"] is None


def test_options_reach_the_search():
    done = invoke(
        "run", "uniform:8", "--direction", "top_down", "--depth-limit", 1, "--threads", 1,
        "--edgefactor", 2, "--seed", 3, "--validate", "--json", "-",
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["direction"] == "top_down"
    assert report["trials"][0]["n_levels"] == 1
    assert report["validated"] is True
    assert report["graph"]["name"] == "uniform:8"


def test_a_wrong_tree_is_told_and_fails(monkeypatch):
    def wrong(*args, **kwargs):
        raise daskbfs.ValidationError(4, 17, "planted")

    monkeypatch.setattr("daskbfs.bench.trials.validate", wrong)
    done = invoke("run", "kron:8", "--validate", "--sources", 3)
    assert done.exit_code == 1
    assert "a tree FAILED its checks" in done.output
    assert "is wrong: check 4 fails at vertex 17: planted" in done.output
    assert "1 search," in done.output
    done = invoke("run", "kron:8", "--validate", "--json", "-")
    assert json.loads(done.stdout)["validated"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["run", "kron:8", "--source", "999"],
            "source 999 is not in the graph: vertices are 0 to",
        ),
        (["run", "nowhere.txt"], "nowhere.txt does not exist"),
        (["run", "kron:zz"], "after 'kron:' comes a scale"),
        (["run", "kron:8", "--scheduler", "foo"], "scheduler 'foo' is no address"),
        (["run", "kron:31"], "are free: take a smaller graph"),
        (["run", "kron:99"], "scale 99 is out of range"),
        (["run", "kron:8", "--directed"], "is undirected"),
        (["run", "kron:8", "--threads", "9999"], "kernels can use 1 to"),
        (["run", "kron:8", "--source", "1", "--sources", "2"], "exclude each other"),
        (["run", "kron:8", "--workers", "1", "--scheduler", "x"], "exclude each other"),
        (["run", "kron:8", "--workers", "1", "--driver", "direct"], "direct has no workers"),
        (["run", "kron:8", "--devices", "cpu", "--driver", "direct"], "direct has no workers"),
        (["run", "kron:8", "--devices", "cpu", "--workers", "1"], "--devices starts a cluster"),
        (["run", "kron:8", "--devices", "tpu=1"], "devices 'tpu=1' cannot be read at 'tpu=1'"),
        (["run", "kron:8", "--devices", "gpu=1"], "pip install 'daskbfs[cuda13]'"),
        (["run", "kron:8", "--devices", "cpu", "--cpu-share", "2"], "is not in the range 0<=x<=1"),
        (["run", "kron:8", "--format", "gap"], "'kron:8' is generated: only files have a format"),
        (["run", "kron:8", "--format", "word"], "is not one of 'edge-list'"),
        (["run", "kron:8", "--json", "/no/such/folder/x.json"], "/no/such/folder does not exist"),
        (["convert", "kron:8", "x.wsg"], "the suffix tells no format"),
    ],
)
def test_mistakes_get_one_line_and_no_traceback(words, message):
    done = invoke(*words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output


def test_a_graph_without_edges_has_no_random_source(tmp_path):
    (tmp_path / "a.txt").write_text("0 0\n")
    assert "has no edges" in invoke("run", tmp_path / "a.txt").output
    assert invoke("run", tmp_path / "a.txt", "--source", 0, "--validate").exit_code == 0


def test_convert_writes_what_run_reads(tmp_path):
    done = invoke("convert", "kron:8", tmp_path / "g.sg")
    assert done.exit_code == 0
    assert "written to" in done.output
    ours = json.loads(invoke("run", "kron:8", "--source", 3, "--json", "-").stdout)
    theirs = json.loads(invoke("run", tmp_path / "g.sg", "--source", 3, "--json", "-").stdout)
    for key in ("reached", "n_levels"):
        assert ours["trials"][0][key] == theirs["trials"][0][key]
    assert ours["graph"]["n_edges"] == theirs["graph"]["n_edges"]


def test_formats_can_be_told(tmp_path):
    (tmp_path / "a").write_text("0 1\n1 2\n")
    done = invoke("run", tmp_path / "a")
    assert "give the format" in done.output
    done = invoke("run", tmp_path / "a", "--format", "edge-list", "--source", 0, "--json", "-")
    assert json.loads(done.stdout)["trials"][0]["reached"] == 3
    words = ["convert", tmp_path / "a", tmp_path / "b", "--format", "edge-list"]
    assert invoke(*words, "--to-format", "gap").exit_code == 0
    done = invoke("run", tmp_path / "b", "--format", "gap", "--source", 0, "--json", "-")
    assert json.loads(done.stdout)["trials"][0]["reached"] == 3


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("x.wsg", "the suffix tells no format"),
        ("x.sg.gz", "gap files are read where they lie"),
        ("no/x.sg", "does not exist"),
    ],
)
def test_convert_refuses_a_bad_target_before_it_builds_the_graph(
    tmp_path, monkeypatch, target, message
):
    def built(*args, **kwargs):
        raise AssertionError("the graph was built")

    monkeypatch.setattr("daskbfs.io.build_graph", built)
    done = invoke("convert", "kron:8", tmp_path / target)
    assert done.exit_code == 2
    assert message in done.output


@pytest.mark.slow
def test_run_on_emulated_gpus_says_so(tmp_path):
    words = ("--devices", "cpu=1,gpu-emulated=1", "--strategy", "high", "--validate")
    done = invoke("run", "kron:10", *words, "--json", tmp_path / "r.json")
    assert done.exit_code == 0, done.output
    assert "no time here is a GPU's" in done.output
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["cluster"] == {
        "workers": 2, "devices": {"cpu": 1, "gpu": 0, "gpu-emulated": 1}
    }  # fmt: skip
    assert report["validated"] is True
    rows = report["trials"][0]["levels"]
    assert {row["device"] for row in rows if row["level"] == 0} == {"cpu", "gpu-emulated"}


def test_doctor_tells_what_is_here(tmp_path):
    done = invoke("doctor", "--json", tmp_path / "d.json")
    assert done.exit_code == 0
    assert "a search of scale 10 is right" in done.output
    findings = json.loads((tmp_path / "d.json").read_text())
    assert findings["daskbfs"] == daskbfs.__version__
    assert {"cpu", "memory", "threads", "kernel cache", "gpus", "cuda"} <= set(findings)
    assert findings["emulated GPUs"].startswith("can be started here")
    assert "cannot be started here" in findings["GPU workers"] or "can be" in findings["gpus"]


@pytest.mark.slow
def test_the_command_and_the_dask_plug_in_are_installed():
    folder = Path(sys.executable).parent
    for words in (["daskbfs"], ["dask", "bfs"]):
        done = subprocess.run(
            [folder / words[0], *words[1:], "run", "kron:6", "--source", "1", "--json", "-"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout)["trials"][0]["source"] == 1


def test_the_plug_in_costs_other_dask_commands_no_heavy_import():
    code = "import sys, daskbfs.cli; print({'numba', 'numpy', 'dask'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_every_command_has_help_with_an_example():
    for name, command in main.commands.items():
        done = invoke(name, "--help")
        assert done.exit_code == 0
        assert command.help.split()[:4] == done.output.split("\n\n")[1].split()[:4]
        assert f"  daskbfs {name}" in done.output
    shown = invoke("--help").output
    assert "daskbfs run kron:20" in shown
    assert "0: done" in shown


@pytest.mark.parametrize("error", [ValueError("planted"), KeyError("planted")])
def test_a_traceback_is_shown_only_to_those_who_ask(monkeypatch, error):
    def broken(*args, **kwargs):
        raise error

    monkeypatch.setattr("daskbfs.bench.trials.run_trials", broken)
    done = invoke("run", "kron:6")
    assert done.exit_code == 2
    assert "planted" in done.stderr
    assert "Traceback" not in done.output
    assert ("a mistake of ours" in done.stderr) == isinstance(error, KeyError)
    done = invoke("run", "kron:6", "--debug")
    assert done.exit_code == 2
    assert f"{type(error).__name__}: " in done.stderr
    assert "Traceback" in done.stderr


def completions(*words):
    """What bash is told when TAB is pressed after some words."""
    done = subprocess.run(
        [Path(sys.executable).parent / "daskbfs"],
        capture_output=True,
        text=True,
        env=os.environ
        | {
            "_DASKBFS_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(("daskbfs", *words)),
            "COMP_CWORD": str(len(words)),
        },
    )
    return done.stdout.split()


def test_the_shell_completes_commands_options_and_graphs():
    assert completions("conv") == ["plain,convert"]
    assert "plain,--workers" in completions("run", "kron:8", "--wo")
    assert completions("run", "kron:8", "--driver", "res") == ["plain,resident"]
    assert completions("run", "kr") == ["plain,kron:", "plain,kron-reference:", "file,kr"]
    assert completions("convert", "a.el", "b") == ["file,b"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_what_a_shell_can_load(shell):
    done = invoke("completion", shell)
    assert done.exit_code == 0, done.output
    assert "_DASKBFS_COMPLETE" in done.output
    if shell == "bash":
        code = f"{done.output}\ncomplete -p daskbfs"
        loaded = subprocess.run(["bash", "-c", code], capture_output=True, text=True)
        assert "daskbfs" in loaded.stdout, loaded.stderr


def test_partition_shows_a_cut_without_any_worker(tmp_path):
    words = ["partition", "kron:10", "--devices", "cpu,gpu=2", "--strategy", "high"]
    words += ["--cpu-share", "0.6", "--json", str(tmp_path / "cut.json")]
    words += ["--plot", str(tmp_path / "cut.png"), "--quiet"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "cut.json").read_text())
    keys = {
        "partition", "device", "n_vertices", "n_edges", "vertex_share", "edge_share",
        "mean_degree", "max_degree", "boundary_edges", "aggregated_messages", "bytes",
    }  # fmt: skip
    assert all(keys <= set(found) for found in report["partitions"])
    assert [found["device"] for found in report["partitions"]] == ["cpu", "gpu", "gpu"]
    assert report["cpu_share"] == pytest.approx(0.6, abs=0.02)
    assert (tmp_path / "cut.png").read_bytes()[:4] == b"\x89PNG"
    done = CliRunner().invoke(main, ["partition", "kron:10", "--quiet", "--json", "-"])
    assert json.loads(done.stdout)["why"].startswith("all partitions are on CPU workers")
    done = CliRunner().invoke(
        main, ["partition", "kron:10", "--devices", "cpu=1,gpu=1", "--gpu-memory", "64KiB"]
    )
    assert "the accelerators hold 64.0 KiB" in done.output
    assert "messages are left after aggregation" in done.output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--devices", "tpu=1"], "devices 'tpu=1' cannot be read at 'tpu=1'"),
        (["--devices", "cpu=0"], "devices 'cpu=0' are none"),
        (["--cpu-share", "half"], "cpu_share 'half' is neither a share, from 0 to 1, nor 'fit'"),
        (["--cpu-share", "2"], "cpu_share 2.0 is out of range"),
        (["--cpu-share", "fit"], "give --gpu-memory"),
        (["--gpu-memory", "much"], "'much' is no amount of memory"),
        (["--devices", "gpu=1", "--gpu-memory", "1KiB"], "there is no CPU for the rest"),
        (["--plot", "cut.doc"], "has no suffix of a picture"),
    ],
)
def test_partition_refuses_what_it_cannot_do(words, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["partition", "kron:8", *words])
    assert done.exit_code == 2
    assert error in done.output


def test_a_cluster_stays_until_it_is_told_to_go(tmp_path):
    file = tmp_path / "scheduler.json"
    words = ["cluster", "--devices", "cpu=1", "--dashboard", ":0", "--scheduler-file", str(file)]
    program = Path(sys.executable).parent / "daskbfs"
    with subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True) as started:
        assert "at tcp://127.0.0.1:" in started.stdout.readline()
        assert "--scheduler tcp://127.0.0.1:" in started.stdout.readline()
        until(file.exists)
        address = json.loads(file.read_text())["address"]
        done = invoke("run", "kron:8", "--scheduler", address, "--validate", "--json", "-")
        assert json.loads(done.stdout)["validated"] is True
        started.send_signal(signal.SIGTERM)
        assert started.wait(60) == 0
    assert not file.exists()
