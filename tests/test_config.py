"""Numbers that decide can be changed, whenever daskbfs is loaded."""

from __future__ import annotations

import subprocess
import sys

import dask

from daskbfs import config


def test_settings_can_be_changed_for_a_while():
    with dask.config.set({"daskbfs.direction.beamer.alpha": 99}):
        assert config.get("direction.beamer.alpha") == 99
    assert config.get("direction.beamer.alpha") == 15


def test_defaults_outlive_settings_that_began_before_daskbfs_was_loaded():
    code = """
import dask
with dask.config.set({"daskbfs.gpu.memory-limit": 7}):
    from daskbfs import config
    assert config.get("gpu.memory-limit") == 7
    assert config.get("driver") == "auto"
assert config.get("driver") == "auto"
assert config.get("gpu.memory-limit") is None
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
