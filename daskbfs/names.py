"""The words that all packages share: directions and devices."""

from __future__ import annotations

import enum


class Direction(enum.StrEnum):
    """Which way a level is searched."""

    TOP_DOWN = "top_down"
    BOTTOM_UP = "bottom_up"


class Device(enum.StrEnum):
    """What ran a kernel; emulated devices never pass for real ones."""

    CPU = "cpu"
    GPU = "gpu"
    GPU_EMULATED = "gpu-emulated"


def parse_devices(text: str) -> list[Device]:
    """Devices from words such as ``cpu=1,gpu=2``: a kind without a number means one, CPUs first."""
    counts = dict.fromkeys(Device, 0)
    for word in text.split(","):
        kind, _, number = word.strip().partition("=")
        try:
            counts[Device(kind)] += int(number or 1)
        except ValueError:
            raise ValueError(
                f"devices {text!r} cannot be read at {word!r}: write kinds and numbers, for "
                f"example cpu=1,gpu=2; kinds are {', '.join(Device)}"
            ) from None
    if min(counts.values()) < 0 or not any(counts.values()):
        raise ValueError(f"devices {text!r} are none: at least one is needed, for example cpu=1")
    return [device for device in Device for _ in range(counts[device])]
