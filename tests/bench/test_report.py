"""Pictures and pages of records."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import daskbfs
from daskbfs.bench.report import figures, read_records, write_report
from daskbfs.cli import main
from daskbfs.plotting.figures import degree_figure, search_figure
from daskbfs.plotting.pictures import render
from tests.support.records import write_records
from tests.support.samples import TABLE

NAME = "<script>alert(1)</script> $x_$ & co"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_records(tmp_path_factory.mktemp("records"))


class Tags(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.slow
def test_a_page_has_all_figures_that_the_records_allow(files, tmp_path):
    words = ["report", *files, "-o", str(tmp_path / "page.html"), "--png"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text()
    tags = Tags(page)
    pictures = [attributes for tag, attributes in tags.tags if tag == "img"]
    assert len(pictures) == 9
    assert all(picture["src"].startswith("data:image/svg+xml;base64,") for picture in pictures)
    assert all(picture["alt"] for picture in pictures)
    assert not [a for _, a in tags.tags if "http" in a.get("src", "") + a.get("href", "")]
    for paper in ("figure 1 of", "figure 3 of", "figure 4 (left) of", "figure 4 (right) of",
                  "figures 4, 7, 8 and 12 of"):  # fmt: skip
        assert paper in page
    assert "no time here is a GPU&#x27;s" in page or "no time here is a GPU's" in page
    pngs = sorted(tmp_path.glob("page-*.png"))
    assert len(pngs) == 9
    assert all(png.read_bytes()[:4] == b"\x89PNG" for png in pngs)
    assert done.output.count(" written") == 10


@pytest.mark.slow
def test_the_table_of_levels_is_that_of_the_median_search(files, tmp_path):
    write_report(files[:1], str(tmp_path / "page.html"))
    trials = json.loads(Path(files[0]).read_text())["trials"]
    median = sorted(trials, key=lambda trial: trial["seconds"])[2]
    words = Tags((tmp_path / "page.html").read_text()).words
    assert f"kron:10: levels of the search from {median['source']}" in words
    for row in median["levels"]:
        assert f"{row['edges_examined']:,}" in words


@pytest.mark.slow
def test_html_and_mathematics_in_names_stay_text(files, tmp_path):
    record = json.loads(Path(files[0]).read_text())
    record["graph"]["name"] = NAME
    record["driver"] = "<b>"
    record["machine"]["cores"] = "2"
    (tmp_path / "evil.json").write_text(json.dumps(record))
    write_report([str(tmp_path / "evil.json")], str(tmp_path / "page.html"))
    tags = Tags((tmp_path / "page.html").read_text())
    assert "script" not in [tag for tag, _ in tags.tags]
    assert NAME in tags.words
    result = daskbfs.bfs(daskbfs.from_edges([(0, 1)], name=NAME), 0)
    assert render(result.plot(), "svg")


@pytest.mark.slow
def test_records_of_older_versions_can_be_shown(files, tmp_path):
    record = json.loads(Path(files[0]).read_text())
    for trial in record["trials"]:
        del trial["phases"]
        for row in trial["levels"]:
            del row["scout_count"]
    (tmp_path / "old.json").write_text(json.dumps(record))
    shown = figures(read_records([str(tmp_path / "old.json")]))
    assert [picture.name for picture in shown] == ["degree-1", "devices-1", "rates"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no records of daskbfs"),
        ('{"daskbfs": "0"}', "has neither trials nor sweeps nor partitions"),
        ('{"daskbfs": "0", "trials": []}', "has neither trials nor sweeps nor partitions"),
        ('{"daskbfs": "0", "trials": [{"source": 1}]}', "lack what a report needs"),
        ('{"daskbfs": "0", "trials": 7}', "lack what a report needs"),
        ("\udcff", "is no text"),
    ],
)
def test_what_is_no_record_is_refused_and_nothing_is_written(text, error, tmp_path):
    (tmp_path / "bad.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    words = ["report", str(tmp_path / "bad.json"), "-o", str(tmp_path / "page.html")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert error in done.output
    assert "Traceback" not in done.output
    assert [file.name for file in tmp_path.iterdir()] == ["bad.json"]


@pytest.mark.slow
def test_records_are_not_overwritten_and_their_numbers_are_numbers(files, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_text(Path(files[0]).read_text())
    done = CliRunner().invoke(main, ["report", str(copy), "-o", str(copy)])
    assert done.exit_code == 2
    assert "holds the records to be shown: give another name" in done.output
    record = json.loads(copy.read_text())
    record["machine"]["cores"] = "<script>alert(1)</script>"
    copy.write_text(json.dumps(record))
    done = CliRunner().invoke(main, ["report", str(copy), "-o", str(tmp_path / "page.html")])
    assert "the records lack what a report needs" in done.output


@pytest.mark.slow
def test_a_missing_file_and_a_missing_folder_are_named(files, tmp_path):
    done = CliRunner().invoke(main, ["report", "nowhere.json", "-o", str(tmp_path / "page.html")])
    assert done.exit_code == 2
    assert "nowhere.json" in done.output
    done = CliRunner().invoke(main, ["report", files[0], "-o", str(tmp_path / "no" / "page.html")])
    assert "does not exist: make it first" in done.output


def test_results_draw_themselves(kron12, tmp_path):
    result = daskbfs.bfs(kron12, int(kron12.random_sources(1)[0]))
    figure = result.plot(tmp_path / "search.png")
    assert (tmp_path / "search.png").read_bytes()[:4] == b"\x89PNG"
    assert figure._repr_png_()[:4] == b"\x89PNG"  # what notebooks show
    left, right = figure.axes[:2]
    heights = [bar.get_height() for bar in left.patches if bar.get_width() == 0.8]
    assert heights == pytest.approx([r.kernel_seconds * 1e3 for r in result.levels])
    assert left.get_ylabel() == "time in kernels (ms, devices stacked)"
    assert right.get_ylabel() == "vertices in the frontier"
    assert figure.axes[2].get_ylabel() == "mean degree of the frontier's vertices"
    with pytest.raises(ValueError, match="has no suffix of a picture"):
        result.plot(tmp_path / "search.txt")
    with pytest.raises(FileNotFoundError, match="make it first"):
        result.plot(tmp_path / "no" / "search.png")


def test_emulated_devices_are_called_so_in_pictures():
    (left, *_) = search_figure(TABLE, "title").axes
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    assert set(labels) == {"bottom-up", "cpu", "gpu-emulated (no GPU's time)", "slowest worker"}


def test_searches_of_many_levels_and_of_none_can_be_drawn():
    path = daskbfs.from_edges(np.arange(3000)[:, None] + [0, 1], n_vertices=3002)
    for source in (0, 3001):
        result = daskbfs.bfs(path, source)
        assert render(result.plot(), "png")
        assert render(degree_figure(result.levels, "title"), "png")
