"""The output formats of `topicwarden plan`. Each module writes one format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from topicwarden.model.field_types import StrictModel
from topicwarden.model.planned_change import PlanReport
from topicwarden.model.problem import Location
from topicwarden.report import markdown, terminal
from topicwarden.report.document import Medium
from topicwarden.report.plan import github
from topicwarden.report.plan.digest import ordered
from topicwarden.report.plan.document import document
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.report.published_json import json_text

FORMATS: Final[Mapping[str, str]] = {
    "text": "for a terminal: each topic, the most severe first, and a summary line",
    "json": "for programs; `topicwarden schema plan` is its schema",
    "markdown": "a comment on a pull request, below GitHub's limit of 65,536 characters",
    "github": "workflow commands, which GitHub Actions shows at the lines of the pull request",
}
FILES: Final[Mapping[str, str]] = {"plan.json": "json", "plan.md": "markdown", "plan.txt": "text"}
"""The files of the option ``--out``, with their formats."""
_PULL_REQUEST_FORMATS: Final = ("markdown", "github")


def render(report: PlanReport, form: str, root: Path | None = None) -> str:
    """Return the plan in one of ``FORMATS``, without colours.

    ``root`` is the project's folder. With it, formats for pull requests name files relative to the Git repository.
    """
    if root is not None and form in _PULL_REQUEST_FORMATS:
        report = with_prefix(report, ProblemDigest(root, (), (), 0).prefix)
    if form == "json":
        return json_text(ordered(report), ascii_only=True)
    if form == "github":
        return github.render(report)
    if form == "markdown":
        return markdown.write(document(report, Medium.MARKDOWN))
    return terminal.text(document(report, Medium.TERMINAL, whole=True))


def with_prefix(report: PlanReport, prefix: str) -> PlanReport:
    """Return the plan with ``prefix``, such as ``kafka/``, in front of each file name."""
    if not prefix:
        return report
    return cast("PlanReport", _prefixed(report, prefix))


def _prefixed(value: object, prefix: str) -> object:
    """Return ``value`` with ``prefix`` in front of the file of each location in it."""
    if isinstance(value, Location):
        return replace(value, file=prefix + value.file)
    if isinstance(value, list):
        return [_prefixed(each, prefix) for each in value]
    if isinstance(value, StrictModel):
        return value.model_copy(update={name: _prefixed(each, prefix) for name, each in value})
    return value
