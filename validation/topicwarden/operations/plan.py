"""Plan a deploy: its changes, and their consequences for live data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from topicwarden.deploy.preview import preview
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.model.access import NO_ACCESS
from topicwarden.model.planned_change import PlanReport, PreviewResult, Severity, TopicPlan
from topicwarden.model.project import Project
from topicwarden.model.subject import NO_SUBJECTS
from topicwarden.operations.declared_topics import checked_stack
from topicwarden.operations.find_pulumi import engine_of
from topicwarden.operations.operation_options import SILENT, ProgressListener
from topicwarden.plan.engine_steps import with_unpredicted_steps
from topicwarden.policies.check_specs import CheckedStacks


def plan_topics(
    project: Project, stack: str, patterns: Sequence[str] = (), *, listener: ProgressListener = SILENT
) -> PlanReport:
    """Return the plan of a deploy of ``stack``, for the topics that match the globs ``patterns``. Changes nothing.

    Raises Refusal if the declarations have errors, if the cluster or Pulumi does not respond, or if no topic matches.
    """
    return planned(engine_of(project, stack), patterns, listener=listener)


def planned(
    engine: PulumiEngine,
    patterns: Sequence[str] = (),
    checked: CheckedStacks | None = None,
    *,
    listener: ProgressListener = SILENT,
) -> PlanReport:
    """Return the plan of the engine's stack; see ``plan_topics``.

    ``checked`` are its declarations, if the caller has checked them.
    """
    checked = checked or checked_stack(engine.project, engine.stack, "planned")
    with listener.stage("running the preview and reading the cluster"):
        previewed = preview(engine, checked, patterns)
    report = previewed.predicted.report
    expected_errors = _protection_errors(previewed.engine, report.topics)
    previewed.require_end(engine.stack, expected_errors)
    checked_report = with_unpredicted_steps(report, previewed.steps, previewed.names, previewed.predicted.live)
    return checked_report.model_copy(
        update={
            "remarks": [*report.remarks, *_omitted(patterns, checked, engine.stack)],
            "engine": _without(expected_errors, previewed.engine),
        }
    )


def _omitted(patterns: Sequence[str], checked: CheckedStacks, stack: str) -> Iterator[str]:
    if patterns:
        more = [
            *(["all access"] if not checked.access.get(stack, NO_ACCESS).empty else []),
            *(["all subjects"] if checked.subjects.get(stack, NO_SUBJECTS) else []),
        ]
        others = " and ".join(["the others", *more])
        yield f"Only topics that match {' or '.join(patterns)} were planned; `topicwarden up` deploys {others}, too."


def _protection_errors(preview: PreviewResult, plans: Sequence[TopicPlan]) -> tuple[str, ...]:
    """Return Pulumi's errors about protected topics that the plan refuses anyway, with a better explanation."""
    refused = [plan for plan in plans if plan.severity is Severity.REFUSED]
    resources = [f"::{plan.topic}" for plan in refused]
    resources += [str(each.evidence["urn"]) for plan in refused for each in plan.consequences if "urn" in each.evidence]
    return tuple(error for error in preview.errors if "protect" in error and any(name in error for name in resources))


def _without(expected_errors: Collection[str], preview: PreviewResult) -> PreviewResult:
    """Return ``preview`` without the expected errors; it counts as successful if no other error remains."""
    errors = [error for error in preview.errors if error not in expected_errors]
    return preview.model_copy(update={"errors": errors, "ran": preview.ran or not errors})
