"""Provide a headless Chromium for tests of HTML pages; ``tests/install-browser`` installs Chromium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.support.run_summary import BROWSER_REMEDY, skip_missing

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def found() -> str | None:
    """Return the path of a Chromium: the value of CHROMIUM, or one on the PATH, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    return next((path for path in map(shutil.which, NAMES) if path), None) or _playwrights()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a running browser, and close it at the end; without a Chromium, skip the test."""
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
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None
