from __future__ import annotations

import json

import pytest

import daskbfs
from daskbfs.machine import hardware
from daskbfs.names import Device, Direction
from daskbfs.telemetry.levels import LevelRecord, LevelTable


def record(level, partition=0, seconds=0.5, worker=None):
    return LevelRecord(
        level, Direction.BOTTOM_UP, Device.CPU, partition, worker, 1234567, 8, seconds, 0, 2469134
    )


def test_a_table_prints_well():
    text = str(LevelTable([record(0), record(1)]))
    header, *rows = text.splitlines()
    assert header.split()[:3] == ["level", "direction", "device"]
    assert "1,234,567" in rows[0]
    assert "bottom-up" in rows[1]
    assert len({len(line) for line in text.splitlines()}) == 1
    assert str(LevelTable([])) == "(no levels)"


def test_a_long_table_shows_its_head_and_tail():
    lines = str(LevelTable([record(i) for i in range(3000)])).splitlines()
    assert len(lines) == 41
    assert lines[1].split()[0] == "0"
    assert lines[20].strip() == "..."
    assert lines[-1].split()[0] == "2999"


def test_kernel_seconds_take_the_slowest_worker_of_each_level():
    table = LevelTable([record(0, 0, 1.0, "a"), record(0, 1, 3.0, "b"), record(1, 0, 2.0, "a")])
    assert table.kernel_seconds == 5.0
    assert table.n_levels == 2
    assert table[0].partition == 0
    assert len(table[1:]) == 2


def test_records_convert_to_json_pandas_and_html():
    table = LevelTable([record(0), record(1)])
    assert json.loads(json.dumps(table.to_dicts()))[1]["direction"] == "bottom_up"
    assert table.to_pandas()["frontier_vertices"].tolist() == [1234567] * 2
    assert table._repr_html_().count("<tr>") == 3
    assert LevelTable.from_dicts(json.loads(table.to_json()))[0] == table[0]
    assert list(LevelTable([]).to_pandas().columns)[:2] == ["level", "direction"]


def test_records_are_saved_whole_or_not_at_all(tmp_path):
    table = LevelTable([record(0), record(1)])
    table.save(tmp_path / "levels.json")
    assert json.loads((tmp_path / "levels.json").read_text()) == table.to_dicts()
    with pytest.raises(FileNotFoundError, match="make it first"):
        table.save(tmp_path / "no" / "levels.json")
    assert [file.name for file in tmp_path.iterdir()] == ["levels.json"]


def test_a_notebook_shows_no_html_of_others():
    table = LevelTable([record(0, worker="<b>")])
    graph = daskbfs.from_edges([(0, 1)], name="<script>")
    assert "<b>" not in table._repr_html_()
    assert "<script>" not in daskbfs.bfs(graph, 0)._repr_html_()
    assert LevelTable([record(i) for i in range(3000)])._repr_html_().count("<tr>") == 41


def test_results_show_themselves():
    graph = daskbfs.from_edges([(0, 1), (1, 2)])
    result = daskbfs.bfs(graph, 0)
    assert repr(result).startswith("BFSResult from 0: 3 of 3 vertices in 3 levels, ")
    assert "<table>" in result._repr_html_()
    assert "<p>BFSResult from 0" in result._repr_html_()


def test_the_machine_describes_itself():
    facts = hardware.describe()
    assert facts["cores"] >= 1
    assert facts["memory_bytes"] > hardware.available_bytes() > 0
    assert hardware.peak_bytes() > 10 * 2**20
    assert hardware.human_bytes(3 * 2**30) == "3.0 GiB"
    assert hardware.human_bytes(17) == "17 B"
    assert hardware.human_rate(5.432e9) == "5.43 GTEPS"
    assert hardware.human_rate(17e6) == "17 MTEPS"
    assert hardware.human_rate(1200) == "1.2 kTEPS"
    assert hardware.human_rate(7) == "7 TEPS"
