"""The output formats of `topicwarden plan`. Each module writes one format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from topicwarden.model.planned_change import PlanReport, SubjectPlan
from topicwarden.model.problem import Location
from topicwarden.report.problems.digest import ProblemDigest

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
    """Return the plan in one of ``FORMATS``, without colours. Only the module of that format is imported.

    ``root`` is the project's folder. With it, formats for pull requests name files relative to the Git repository.
    """
    module = import_module(f"topicwarden.report.plan.{form}")
    if root is not None and form in _PULL_REQUEST_FORMATS:
        report = with_prefix(report, ProblemDigest(root, (), (), 0).prefix)
    return cast("Callable[[PlanReport], str]", module.render)(report)


def with_prefix(report: PlanReport, prefix: str) -> PlanReport:
    """Return the plan with ``prefix``, such as ``kafka/``, in front of each file name."""
    if not prefix:
        return report

    def prefixed(location: Location | None) -> Location | None:
        return location and replace(location, file=prefix + location.file)

    topics = [
        topic.model_copy(
            update={
                "location": prefixed(topic.location),
                "consequences": [
                    each.model_copy(update={"location": prefixed(each.location)}) for each in topic.consequences
                ],
            }
        )
        for topic in report.topics
    ]
    allowances = [each.model_copy(update={"location": prefixed(each.location)}) for each in report.allowances]
    access = report.access and report.access.model_copy(
        update={
            key: [each.model_copy(update={"location": prefixed(each.location)}) for each in getattr(report.access, key)]
            for key in ("items", "consequences")
        }
    )
    registry = report.registry and report.registry.model_copy(
        update={
            "subjects": [_prefixed_subject(each, prefixed) for each in report.registry.subjects],
            "consequences": [
                each.model_copy(update={"location": prefixed(each.location)}) for each in report.registry.consequences
            ],
        }
    )
    return report.model_copy(
        update={"topics": topics, "allowances": allowances, "access": access, "registry": registry}
    )


def _prefixed_subject(subject: SubjectPlan, prefixed: Callable[[Location | None], Location | None]) -> SubjectPlan:
    consequences = [each.model_copy(update={"location": prefixed(each.location)}) for each in subject.consequences]
    return subject.model_copy(update={"location": prefixed(subject.location), "consequences": consequences})
