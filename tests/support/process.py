"""Programs in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys


def run_python(code, **environment):
    """Run a program of ours in a fresh process; its streams are text."""
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        timeout=240,
    )
