"""A real Chromium without a screen, and pages in which nothing may go wrong unseen."""

from __future__ import annotations

import contextlib
import os
import shutil
import time

import pytest

from tests.support import ROOT

SCREENSHOTS = ROOT / "artifacts"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def chromium():
    """A browser; where there is none, the test is skipped, except in CI, which installs one."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        assert not os.environ.get("CI"), "CI must have Chromium"
        pytest.skip("no Chromium on this machine: install Debian's package chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(_FLAGS))
        yield browser
        browser.close()


class Page:
    """A page of a browser, with all complaints that reached its console."""

    def __init__(self, browser, url, width=1400, height=1500):
        self.tab = browser.new_page(viewport={"width": width, "height": height})
        self.complaints = []
        self.tab.on("console", self._console)
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.goto(url)

    def _console(self, message):
        if message.type == "error":
            self.complaints.append(message.text)

    def until(self, what, *arguments, seconds=15):
        """Wait until a JavaScript function returns something, without reloading the page."""
        deadline = time.monotonic() + seconds
        while not (found := self.tab.evaluate(what, *arguments)):
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            self.tab.wait_for_timeout(50)
        return found

    def until_headline(self, text, seconds=15):
        """Wait until the headline shows some text."""
        headline = self.tab.locator(".bk-clearfix").first  # locators see through shadow roots
        deadline = time.monotonic() + seconds
        while text not in (shown := headline.inner_text() if headline.count() else ""):
            assert time.monotonic() < deadline, f"the headline is {shown!r}, not {text!r}"
            self.tab.wait_for_timeout(50)

    def until_cell(self, number, seconds=5):
        """Wait until a cell of a table shows a number, as far as its digits go."""
        deadline = time.monotonic() + seconds
        while True:
            cells = self.tab.locator(".slick-cell").all_inner_texts()
            shown = [cell.replace(",", "") for cell in cells if cell[:1].isdigit()]
            if any(abs(float(text) - number) < 0.0006 for text in shown if ":" not in text):
                return
            assert time.monotonic() < deadline, f"no cell shows {number}: {cells}"
            self.tab.wait_for_timeout(50)

    def data(self, name):
        """The columns behind a pane, as the browser has them."""
        return self.until(
            """name => {
                const doc = window.Bokeh && Bokeh.documents[0]
                const source = doc && [...doc._all_models.values()].find(m => m.name === name)
                return source && Object.fromEntries(
                    Object.entries(source.data).map(([k, v]) => [k, Array.from(v)]))
            }""",
            name,
        )

    def screenshot(self, name):
        """Keep what a person would see."""
        SCREENSHOTS.mkdir(exist_ok=True)
        self.tab.wait_for_timeout(300)  # what moves has come to rest
        self.tab.screenshot(path=SCREENSHOTS / f"{name}.png")

    def close(self):
        self.tab.close()
        assert self.complaints == []
