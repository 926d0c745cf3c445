"""`topicwarden plan`: show the changes of a deploy and their consequences for live data."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from rich.console import Console

from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.waiting import waiting
from topicwarden.deploy.preview import preview
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.planned_change import PlanReport, PreviewResult, Severity, TopicPlan
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.find_pulumi import engine_of
from topicwarden.plan.engine_steps import with_unpredicted
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.report import terminal_output
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.report.plan import FILES, FORMATS, render, text

_PENDING = 3


def plan(stack: str, form: str | None, detailed: bool, patterns: Sequence[str] = (), out: Path | None = None) -> int:
    """Print the plan for the topics that match ``patterns`` in the format ``form``, and return the exit code.

    ``out`` is a folder for the plan in several formats. Returns 1 if a change is refused or the preview failed; 3 with
    ``detailed`` if changes are pending; else 0.
    """
    form = form or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    if form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of {', '.join(FORMATS)}")
    if out is not None:
        require_writable(out)
    project = find_project()
    with without_garbage_collection():
        report = planned(engine_of(project, stack), patterns)
    if out is not None:
        write_files(out, {name: render(report, each, project.root) for name, each in FILES.items()})
    if form == "text":
        terminal_output.write_text(text.render(report, Console()))
    else:
        terminal_output.write(render(report, form, project.root))
    if report.refused or not report.engine.ran:
        return 1
    return _PENDING if detailed and report.pending else 0


def planned(engine: PulumiEngine, patterns: Sequence[str] = (), checked: CheckedStacks | None = None) -> PlanReport:
    """Return the plan of the engine's stack, for topics that match ``patterns``.

    ``checked`` are its declarations, if the caller has checked them. Raises Refusal if the declarations have errors, if
    the cluster or Pulumi does not respond, or if no topic matches.
    """
    checked = checked or checked_stack(engine.project, engine.stack, "planned")
    with waiting("running the preview and reading the cluster"):
        previewed = preview(engine, checked, patterns)
    report = previewed.predicted.report
    expected_errors = _protection_errors(previewed.engine, report.topics)
    previewed.require_end(engine.stack, expected_errors)
    return report.model_copy(
        update={
            "topics": list(with_unpredicted(report.topics, previewed.steps, previewed.predicted.live)),
            "remarks": [*report.remarks, *_omitted(patterns)],
            "engine": _without(expected_errors, previewed.engine),
        }
    )


def _omitted(patterns: Sequence[str]) -> Iterator[str]:
    if patterns:
        yield f"Only topics that match {' or '.join(patterns)} were planned; `pulumi up` deploys the others, too."


def _protection_errors(preview: PreviewResult, plans: Sequence[TopicPlan]) -> tuple[str, ...]:
    """Return Pulumi's errors about protected topics that the plan refuses anyway, with a better explanation."""
    refused = [plan.topic for plan in plans if plan.weight is Severity.REFUSED]
    return tuple(
        error for error in preview.errors if "protect" in error and any(f"::{name}" in error for name in refused)
    )


def _without(expected_errors: Collection[str], preview: PreviewResult) -> PreviewResult:
    """Return ``preview`` without the expected errors; it counts as successful if no other error remains."""
    errors = [error for error in preview.errors if error not in expected_errors]
    return preview.model_copy(update={"errors": errors, "ran": preview.ran or not errors})
