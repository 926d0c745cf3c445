"""Write ``report.json`` for programs, with a published JSON Schema."""

from __future__ import annotations

from typing import Any

from topicwarden.model.finding import AuditReport
from topicwarden.report.display import printable


def render(report: AuditReport) -> str:
    """Return JSON in a stable order, so that two audits can be compared.

    Topics are sorted by name, findings by topic and check.
    """
    topics = [
        topic.model_copy(update={"partitions": sorted(topic.partitions, key=lambda partition: partition.partition)})
        for topic in sorted(report.topics, key=lambda topic: topic.name)
    ]
    findings = sorted(report.findings, key=lambda f: (f.topic, f.check, f.partitions, f.verdict.value, f.message))
    settled = sorted(report.settled, key=lambda each: (each.topic, each.check, each.partitions, each.now.value))
    ordered = {"topics": topics, "findings": findings, "settled": settled}
    # The escapes of `printable` are those of JSON, so programs read the same text.
    return printable(report.model_copy(update=ordered).model_dump_json(indent=2)) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output of ``render``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:topicwarden:report:1",
        **AuditReport.model_json_schema(mode="serialization"),
        "title": "topicwarden audit report",
    }
