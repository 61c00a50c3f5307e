"""Energy counters, on a powercap tree and an NVML that tests make up: this machine has neither."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

from daskbfs.bench.energy import energy_figures, format_energy
from daskbfs.machine.energy import EnergyMeter, Reading, read_counters

RANGE = 262_143_328_850


def zone(folder, name, label, microjoules, limit=RANGE):
    path = folder / name
    path.mkdir()
    (path / "name").write_text(f"{label}\n")
    (path / "energy_uj").write_text(f"{microjoules}\n")
    (path / "max_energy_range_uj").write_text(f"{limit}\n")
    return path


@pytest.fixture
def powercap(tmp_path):
    """Two packages with parts, their twins by MMIO, and the platform."""
    zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    zone(tmp_path, "intel-rapl:0:0", "core", 3_000_000)
    zone(tmp_path, "intel-rapl:0:1", "dram", 1_000_000)
    zone(tmp_path, "intel-rapl:1", "package-1", 7_000_000)
    zone(tmp_path, "intel-rapl:1:0", "dram", 2_000_000)
    zone(tmp_path, "intel-rapl:2", "psys", 99_000_000)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 5_000_000)
    (tmp_path / "intel-rapl").mkdir()
    return tmp_path


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)


@pytest.fixture
def gpus(monkeypatch):
    """Two GPUs, of which one cannot tell its energy."""
    fake = ModuleType("pynvml")
    fake.NVMLError = type("NVMLError", (Exception,), {})
    fake.millijoules = 4_000

    def energy(handle):
        if handle == 1:
            raise fake.NVMLError("Not Supported")
        return fake.millijoules

    fake.nvmlInit = lambda: None
    fake.nvmlDeviceGetCount = lambda: 2
    fake.nvmlDeviceGetHandleByIndex = lambda i: i
    fake.nvmlDeviceGetTotalEnergyConsumption = energy
    fake.__spec__ = type("Spec", (), {"name": "pynvml"})()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    return fake


def by_component(readings):
    return {reading.component: reading for reading in readings}


def test_packages_and_their_memory_are_counted_once(powercap, gpus):
    found = by_component(read_counters(powercap))
    assert {name: reading.joules for name, reading in found.items()} == {
        "package-0": 5.0, "dram-0": 1.0, "package-1": 7.0, "dram-1": 2.0,
        "gpu-0": 4.0, "gpu-1": None,
    }  # fmt: skip
    assert found["gpu-1"].problem == "NVML cannot tell (Not Supported)"


def test_counters_that_begin_anew(powercap, no_gpu):
    meter = EnergyMeter()
    counter = powercap / "intel-rapl:0" / "energy_uj"
    counter.write_text(f"{RANGE - 1_000_000}")
    meter.look({"here": read_counters(powercap)})
    for microjoules in (500_000, 2_500_000, RANGE - 500_000, 500_000):
        counter.write_text(f"{microjoules}")
        meter.look({"here": read_counters(powercap)})
    assert meter.joules["package-0"] == pytest.approx(1.5 + 2 + (RANGE / 1e6 - 3) + 1)
    assert meter.joules["dram-0"] == 0
    gpu = EnergyMeter()  # NVML's do not begin anew, unless the driver does
    for joules in (5.0, 8.0, 1.0, 9.0):
        gpu.look({"here": [Reading("gpu-0", joules)]})
    assert gpu.joules == {}
    assert gpu.problems == {"gpu-0": "its counter began anew"}


def test_counters_that_cannot_be_read_are_unavailable_and_in_no_sum(powercap, no_gpu):
    (powercap / "intel-rapl:1" / "energy_uj").unlink()
    (powercap / "intel-rapl:0:1" / "energy_uj").write_text("garbage")
    found = by_component(read_counters(powercap))
    assert "cannot be read" in found["package-1"].problem
    assert "cannot be read" in found["dram-0"].problem
    assert "no GPU can be seen" in found["gpu"].problem
    meter = EnergyMeter()
    meter.look({"here": list(found.values())})
    (powercap / "intel-rapl:0" / "energy_uj").write_text("25000000")
    meter.look({"here": read_counters(powercap)})
    figures = energy_figures(meter, edges=40_000_000, n_searches=4, seconds=10.0)
    assert figures["components"]["package-0"] == {
        "joules": 20.0, "watts": 2.0, "mteps_per_watt": 2.0
    }  # fmt: skip
    assert figures["components"]["package-1"].keys() == {"unavailable"}
    assert figures["joules"] is None, "a sum without a package would flatter"
    assert figures["mteps_per_watt"] is None
    text = "\n".join(format_energy(figures))
    assert "component energy" in text
    assert "package-0: 20.0 J, 2.0 W, 2.0 MTEPS/W" in text
    assert "package-1: unavailable, " in text


def test_a_sum_of_all_counters_that_there_are(powercap, no_gpu):
    meter = EnergyMeter()
    meter.look({"here": read_counters(powercap)})
    for name, joules in (("intel-rapl:0", 15), ("intel-rapl:1", 17), ("intel-rapl:1:0", 22)):
        (powercap / name / "energy_uj").write_text(f"{joules}000000")
    meter.look({"here": read_counters(powercap)})
    figures = energy_figures(meter, edges=80_000_000, n_searches=4, seconds=10.0)
    assert figures["joules"] == 40.0
    assert figures["mteps_per_watt"] == 2.0
    assert "together: 40.0 J, 2.0 MTEPS/W" in "\n".join(format_energy(figures))


def test_an_nvml_that_fails_is_unavailable(powercap, gpus):
    def lost():
        raise gpus.NVMLError("GPU is lost")

    gpus.nvmlDeviceGetCount = lost
    assert by_component(read_counters(powercap))["gpus"].problem == "NVML cannot tell (GPU is lost)"


def test_a_counter_without_permission_says_so(powercap, no_gpu, monkeypatch):
    if os.geteuid():
        (powercap / "intel-rapl:0" / "energy_uj").chmod(0)
    else:  # root may read everything
        from pathlib import Path

        read = Path.read_text

        def refuse(self, *arguments):
            if self.name == "energy_uj" and self.parent.name == "intel-rapl:0":
                raise PermissionError(13, "Permission denied")
            return read(self, *arguments)

        monkeypatch.setattr(Path, "read_text", refuse)
    problem = by_component(read_counters(powercap))["package-0"].problem
    assert "only root may read" in problem
    assert "energy_uj: run as root" in problem


def test_a_machine_without_counters(tmp_path, no_gpu):
    readings = read_counters(tmp_path / "nowhere")
    assert [reading.joules for reading in readings] == [None, None]
    assert readings[0].problem == "this machine shows no RAPL counters"
    meter = EnergyMeter()
    meter.look({"here": readings})
    figures = energy_figures(meter, 10, 1, 1.0)
    assert figures["joules"] is figures["mteps_per_watt"] is None


def test_machines_are_told_apart():
    meter = EnergyMeter()
    for joules in (1.0, 4.0):
        meter.look({m: [Reading("package-0", joules)] for m in ("one", "two")})
    assert meter.joules == {"one package-0": 3.0, "two package-0": 3.0}
