"""A headless Chromium for tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def find_chromium() -> str:
    """The path of a Chromium; fails the test, saying how to get one, where there is none."""
    named = os.environ.get("CHROMIUM")
    candidates = [named] if named else ["chromium", "chromium-browser", "google-chrome"]
    found = next((path for path in map(shutil.which, candidates) if path), None)
    if found is None:
        pytest.fail(
            f"no Chromium at {' or '.join(candidates)}: apt-get install chromium, or set CHROMIUM to its path",
            pytrace=False,
        )
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser, closed at the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
