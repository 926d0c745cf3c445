"""Provide a headless Chromium for tests of HTML pages; ``tests/install-browser`` installs Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.run_summary import BROWSER_REMEDY, skip_missing

if TYPE_CHECKING:  # each worker of a test run imports this module, and few of them run a browser
    from playwright.sync_api import Browser, Locator
    from playwright.sync_api._generated import LocatorAssertions

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def found() -> str | None:
    """Return the path of a Chromium: the value of CHROMIUM, or one on the PATH, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    return next((path for path in map(shutil.which, NAMES) if path), None) or _playwrights()


def expect(locator: Locator) -> LocatorAssertions:
    """Return assertions about a part of a page, which wait until they hold."""
    from playwright.sync_api import expect as expected  # noqa: PLC0415

    return expected(locator)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a running browser, and close it at the end; without a Chromium, skip the test."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    path = found()
    if path is None:
        skip_missing("browser", f"no Chromium: {BROWSER_REMEDY}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def _playwrights() -> str | None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None
