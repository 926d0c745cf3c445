"""Test that the committed pages and files for monitoring are what the commands print."""

from __future__ import annotations

from pathlib import Path

import pytest

from topicwarden.cli.pages import MONITORING, PAGES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_are_in_step_with_the_rules_and_checks(name: str) -> None:
    """Run ``topicwarden rules NAME > docs/NAME.md`` to update a page."""
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == PAGES[name]()


@pytest.mark.parametrize("name", MONITORING)
def test_the_files_for_monitoring_are_in_step_with_the_checks(name: str) -> None:
    """Run ``topicwarden rules NAME > docs/FILE`` to update a file."""
    file, write = MONITORING[name]
    assert (DOCS / file).read_text(encoding="utf-8") == write()
