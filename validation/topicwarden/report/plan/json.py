"""Write a plan as JSON for programs, with a published JSON Schema."""

from __future__ import annotations

from topicwarden.model.planned_change import PlanReport
from topicwarden.report.plan.digest import with_sorted_consequences, with_sorted_subjects
from topicwarden.report.published_json import json_text


def render(report: PlanReport) -> str:
    """Return JSON in a stable order, so that two plans can be compared, as ASCII, which every console can print.

    Topics are sorted by name, consequences by severity and kind.
    """
    topics = sorted(map(with_sorted_consequences, report.topics), key=lambda topic: topic.topic)
    access = report.access and with_sorted_consequences(report.access)
    registry = report.registry and with_sorted_subjects(report.registry, by_severity=False)
    ordered = report.model_copy(update={"topics": topics, "access": access, "registry": registry})
    return json_text(ordered, ascii_only=True)
