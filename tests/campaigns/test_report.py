"""The page of records in a real browser."""

from __future__ import annotations

import pytest

from daskbfs.bench.report import write_report
from tests.support.browser import Page, chromium
from tests.support.records import write_records


@pytest.mark.browser
def test_the_page_looks_well_in_a_browser(tmp_path):
    write_report(write_records(tmp_path), str(tmp_path / "page.html"))
    with chromium() as browser:
        page = Page(browser, f"file://{tmp_path}/page.html", width=1100, height=4600)
        page.until("() => [...document.images].every(i => i.complete && i.naturalWidth > 100)")
        assert page.tab.evaluate("document.images.length") == 9
        page.screenshot("report")
        page.close()
