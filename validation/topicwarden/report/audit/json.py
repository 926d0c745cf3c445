"""``report.json``: the report itself, and its published JSON Schema."""

from __future__ import annotations

from typing import Any

from topicwarden.model.finding import AuditReport


def render(report: AuditReport) -> str:
    """JSON in a stable order, so that two audits can be compared: topics by name, findings by topic and check."""
    topics = [
        topic.model_copy(update={"partitions": sorted(topic.partitions, key=lambda partition: partition.partition)})
        for topic in sorted(report.topics, key=lambda topic: topic.name)
    ]
    findings = sorted(report.findings, key=lambda f: (f.topic, f.check, f.partitions, f.verdict.value, f.message))
    settled = sorted(report.settled, key=lambda one: (one.topic, one.check, one.partitions, one.now.value))
    ordered = {"topics": topics, "findings": findings, "settled": settled}
    return report.model_copy(update=ordered).model_dump_json(indent=2) + "\n"


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what ``render`` writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:topicwarden:report:1",
        **AuditReport.model_json_schema(mode="serialization"),
        "title": "topicwarden audit report",
    }
