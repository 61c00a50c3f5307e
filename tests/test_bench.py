from __future__ import annotations

import json
import subprocess
import sys

REFERENCE = """
def bfs(indptr, indices, first, n, source, state, visited):
    assert indptr.size == n + 1 and first.size == n and visited.size == -(-n // 64)
    assert source < n
"""


def test_the_kernel_benchmark_writes_its_figures(tmp_path):
    (tmp_path / "reference_search.py").write_text(REFERENCE)
    words = [
        "--scale",
        "10",
        "--sources",
        "3",
        "--construction",
        "--resident",
        "--json",
        "out.json",
    ]
    words += ["--reference", "reference_search.py"]
    done = subprocess.run(
        [sys.executable, "-m", "daskbfs.bench.kernels", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())["scales"]["10"]
    assert figures["search"]["mean_ms"] > figures["kernel"]["mean_ms"] > 0
    assert figures["construction"]["peak_bytes"] > figures["construction"]["graph_bytes"]
    assert figures["streaming"]["seconds"] > 0
    ratios = {f"{name}_to_reference" for name in ("kernel", "search", "resident")}
    assert ratios | {"kernel_gteps", "level"} <= set(figures)
    assert "x the reference" in done.stdout
