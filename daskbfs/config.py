"""The numbers of ``daskbfs.yaml``, in Dask's configuration, where users can change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import yaml


def _set_defaults() -> None:
    defaults = yaml.safe_load(Path(__file__).with_name("daskbfs.yaml").read_text())
    dask.config.update_defaults(defaults)


_set_defaults()


def get(key: str) -> Any:
    """A value below ``daskbfs.``, for example ``direction.beamer.alpha``."""
    try:
        return dask.config.get(f"daskbfs.{key}")
    except KeyError:  # a dask.config.set that began before we were loaded has ended
        _set_defaults()
        return dask.config.get(f"daskbfs.{key}")
