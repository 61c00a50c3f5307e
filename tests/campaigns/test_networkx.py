"""The tests of networkx itself, with daskbfs behind it."""

from __future__ import annotations

import os
import subprocess
import sys


def test_the_tests_of_networkx_pass(tmp_path):
    """Those of the packages whose functions we have; what we lack falls back to networkx."""
    packages = (
        "traversal",
        "components",
        "link_analysis",
        "shortest_paths.tests",
        "tests.test_distance_measures",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs"]
        + [f"networkx.algorithms.{package}" for package in packages],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"NETWORKX_TEST_BACKEND": "daskbfs", "NETWORKX_FALLBACK_TO_NX": "1"},
    )
    last = done.stdout.splitlines()[-1]
    print(last)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(last.split()[0]) > 300
