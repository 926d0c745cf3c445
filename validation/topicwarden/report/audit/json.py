"""Write ``report.json`` for programs, with a published JSON Schema."""

from __future__ import annotations

from topicwarden.model.finding import AuditReport
from topicwarden.report.published_json import json_text


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
    return json_text(report.model_copy(update=ordered))
