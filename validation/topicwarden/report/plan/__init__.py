"""What people and machines read of a plan: one file a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from topicwarden.model.planned_change import PlanReport
from topicwarden.report.plan.locations import within
from topicwarden.report.problems.digest import ProblemDigest

FORMATS: Final[Mapping[str, str]] = {
    "text": "for a terminal: each topic, the weightiest first, and a summary line",
    "json": "for programs; `topicwarden schema plan` is its schema",
    "markdown": "a pull request's comment, below GitHub's limit of 65,536 characters",
    "github": "workflow commands, which Actions shows at the lines of the pull request",
}
_OF_THE_REPOSITORY: Final = ("markdown", "github")


def render(report: PlanReport, form: str, root: Path | None = None) -> str:
    """The report in one of ``FORMATS``, without colours; only what that format needs is imported.

    With ``root``, the project's folder, a pull request's formats name files from the root of the repository.
    """
    module = import_module(f"topicwarden.report.plan.{form}")
    if root is not None and form in _OF_THE_REPOSITORY:
        report = within(report, ProblemDigest(root, (), (), 0).prefix)
    return cast("Callable[[PlanReport], str]", module.render)(report)
