"""A plan as JSON for programs, and its published JSON Schema."""

from __future__ import annotations

from typing import Any

from topicwarden.model.planned_change import PlanReport
from topicwarden.report.plan.digest import by_weight


def render(report: PlanReport) -> str:
    """JSON in a stable order (topics by name, consequences by weight and kind), so that two plans can be compared.

    ASCII alone, so that it survives any console.
    """
    topics = sorted(map(by_weight, report.topics), key=lambda topic: topic.topic)
    ordered = report.model_copy(update={"topics": topics})
    return ordered.model_dump_json(indent=2, ensure_ascii=True) + "\n"


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what ``render`` writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:topicwarden:plan:1",
        **PlanReport.model_json_schema(mode="serialization"),
        "title": "topicwarden plan",
    }
