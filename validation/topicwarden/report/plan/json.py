"""Write a plan as JSON for programs, with a published JSON Schema."""

from __future__ import annotations

from typing import Any

from topicwarden.model.planned_change import PlanReport
from topicwarden.report.display import printable
from topicwarden.report.plan.digest import with_sorted_consequences, with_sorted_subjects


def render(report: PlanReport) -> str:
    """Return JSON in a stable order, so that two plans can be compared, as ASCII, which every console can print.

    Topics are sorted by name, consequences by severity and kind.
    """
    topics = sorted(map(with_sorted_consequences, report.topics), key=lambda topic: topic.topic)
    access = report.access and with_sorted_consequences(report.access)
    registry = report.registry and with_sorted_subjects(report.registry, by_severity=False)
    ordered = report.model_copy(update={"topics": topics, "access": access, "registry": registry})
    return printable(ordered.model_dump_json(indent=2, ensure_ascii=True)) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output of ``render``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:topicwarden:plan:1",
        **PlanReport.model_json_schema(mode="serialization"),
        "title": "topicwarden plan",
    }
