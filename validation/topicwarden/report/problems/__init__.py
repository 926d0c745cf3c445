"""The output formats of `topicwarden check`. Each module writes one format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final, cast

from topicwarden.report.problems.digest import ProblemDigest

FORMATS: Final[Mapping[str, str]] = {
    "text": "the location, the message, and the line with a caret",
    "github": "workflow commands; the default in GitHub Actions",
    "sarif": "SARIF 2.1.0 for code scanning",
    "junit": "JUnit XML with one test case per file",
    "json": "for programs; `topicwarden schema check` is its schema",
}
FILES: Final[Mapping[str, str]] = {"check.sarif": "sarif", "check.xml": "junit", "check.json": "json"}
"""The files of the option ``--out``, with their formats."""


def render(page: ProblemDigest, form: str) -> str:
    """Return the problems in one of ``FORMATS``, without colours. Only the module of that format is imported."""
    module = import_module(f"topicwarden.report.problems.{form}")
    return cast("Callable[[ProblemDigest], str]", module.render)(page)
