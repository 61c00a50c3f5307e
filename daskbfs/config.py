"""The numbers of ``daskbfs.yaml``, in Dask's configuration, where users can change them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import yaml

dask.config.update_defaults(yaml.safe_load(Path(__file__).with_name("daskbfs.yaml").read_text()))


def get(key: str) -> Any:
    """A value below ``daskbfs.``, for example ``direction.beamer.alpha``."""
    return dask.config.get(f"daskbfs.{key}")
