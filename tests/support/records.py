"""Files of records, for pages and pictures of them."""

from __future__ import annotations

import json

from click.testing import CliRunner

from daskbfs.cli import main


def write_records(folder):
    """Records of all kinds, as the commands write them; returns their files."""

    def run(*words):
        done = CliRunner().invoke(main, [*words, "--quiet"])
        assert done.exit_code == 0, done.output

    one, emulated, cut = (str(folder / f"{name}.json") for name in ("one", "emulated", "cut"))
    run("run", "kron:10", "--sources", "5", "--driver", "direct", "--json", one)
    devices = "cpu=1,gpu-emulated=1"
    run("run", "kron:9", "--sources", "2", "--devices", devices, "--json", emulated)
    run("partition", "kron:9", "--devices", "cpu=1,gpu=1", "--json", cut)
    points = [
        {"strategy": s, "cpu_share": c, "vertex_share": 0.5, "teps": 1e9, "seconds": 1,
         "kernel_seconds": 0.5}
        for s in ("high", "low", "random") for c in (0.3, 0.6)
    ]  # fmt: skip
    record = json.loads((folder / "one.json").read_text())
    swept = {"graph": "kron:20", "one_worker_teps": 2e9, "points": points}
    sweep = {
        "daskbfs": "0",
        "machine": record["machine"],
        "devices": "2 CPU workers",
        "sweeps": [swept],
    }
    (folder / "sweep.json").write_text(json.dumps(sweep))
    return [one, emulated, cut, str(folder / "sweep.json")]
