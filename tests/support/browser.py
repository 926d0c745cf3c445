"""A headless Chromium for tests of pages; ``tests/install-browser`` gets one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def found() -> str | None:
    """The path of the Chromium that CHROMIUM names, or else of one on the PATH, or of Playwright's own."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    return next((path for path in map(shutil.which, NAMES) if path), None) or _playwrights()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser, closed at the end; fails the test, saying how to get one, where there is none."""
    path = found()
    if path is None:
        pytest.fail("no Chromium: run tests/install-browser, or set CHROMIUM to its path", pytrace=False)
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
