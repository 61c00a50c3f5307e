"""The papers' experiments on one page."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from daskbfs.bench.papers import blind_dating as paper_dating
from daskbfs.bench.papers import page as papers
from daskbfs.bench.papers.experiments import Bench, CannotRun, Experiment, Observation, Table
from daskbfs.bench.papers.page import EXPERIMENTS, PAPERS, main, report
from daskbfs.progress import silent

FIGURES = {
    "000": {"1", "2", "3", "4"},
    "001": {str(n) for n in range(4, 16)},
    "002": {"1", "2"},
    "004": {"15", "19"},
}


def test_every_figure_of_the_papers_has_an_experiment():
    for paper, wanted in FIGURES.items():
        told = [e.which for e in EXPERIMENTS if e.paper == paper]
        assert wanted <= set(re.findall(r"\d+", " ".join(told))), paper
    assert {e.paper for e in EXPERIMENTS} == set(PAPERS)
    assert sum(e.which == "Table 1" for e in EXPERIMENTS) == 2


def fails(bench):
    raise CannotRun("there is <no> moon")


def test_the_page_says_what_was_found_and_what_could_not_be_run():
    table = Table(("what", "n"), [("<a>", "1")])
    shown = Experiment(
        "000", "Table 9", "much & more", lambda bench: Observation("less", table=table)
    )
    left_out = Experiment("001", "Figure 99", "the moon", fails)
    page, n_ran = report([shown, left_out], 8, 2, None, silent)
    assert n_ran == 1
    assert "<b>There:</b> much &amp; more" in page
    assert "<b>Here:</b> less" in page
    assert "&lt;a&gt;" in page
    assert "not run: there is &lt;no&gt; moon" in page
    assert page.index("What could not be run") < page.rindex("Figure 99")


def test_real_graphs_must_be_named(tmp_path):
    bench = Bench(8, 2, tmp_path, silent)
    with pytest.raises(CannotRun, match=r"moon.el is not here: .* --data"):
        bench.file("moon.el")
    assert bench.scales == [5, 6, 7, 8]
    assert bench.graph() is bench.graph(8)


QUICK = {
    ("000", "Figure 1"), ("000", "Figure 4, right"), ("001", "Figure 6"), ("001", "Figure 7"),
    ("001", "Figure 10"), ("002", "Figure 1"), ("002", "Figure 2"), ("004", "Table 1"),
}  # fmt: skip


def test_experiments_of_all_papers_run_here(tmp_path, monkeypatch):
    monkeypatch.setattr(paper_dating, "SHARES", (0.5,))
    monkeypatch.setattr(
        papers, "EXPERIMENTS", [e for e in EXPERIMENTS if (e.paper, e.which) in QUICK]
    )
    target = tmp_path / "papers.html"
    words = ["--scale", "7", "--sources", "2", "-o", str(target), "--quiet"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "6 of 8 experiments ran" in done.output  # no counters of caches, nor of energy
    page = target.read_text()
    assert page.count("data:image/svg+xml;base64,") == 5
    assert "gpu-emulated ran a GPU's kernels on the CPU" in page
    assert "hardware counters" in page
    assert "1932" in page
    assert not re.search(r"(?:src|href)=\"https?:", page)
