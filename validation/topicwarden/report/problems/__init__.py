"""What people and machines read of a check: one file a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, cast

from topicwarden.report.problems.digest import ProblemDigest

FORMATS: Final[Mapping[str, str]] = {
    "text": "the place, the message, and the line with a caret",
    "github": "workflow commands, by itself under GitHub Actions",
    "sarif": "SARIF 2.1.0 for code scanning",
    "junit": "JUnit XML, a test case a file",
    "json": "for programs; `topicwarden schema check` is its schema",
}


def render(page: ProblemDigest, form: str) -> str:
    """The page in one of ``FORMATS``, without colours; only what that format needs is imported."""
    module = import_module(f"topicwarden.report.problems.{form}")
    return cast("Callable[[ProblemDigest], str]", module.render)(page)
