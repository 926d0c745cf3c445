"""Looking things up in a report."""

from __future__ import annotations

from topicwarden.model.finding import AuditReport, Finding, TopicFacts
from topicwarden.model.verdict import Verdict


def facts(report: AuditReport, topic: str) -> TopicFacts:
    (found,) = (one for one in report.topics if one.name == topic)
    return found


def finding(report: AuditReport, topic: str, check: str) -> Finding:
    (found,) = (one for one in report.of_topic(topic) if one.check == check)
    return found


def found(report: AuditReport, *verdicts: Verdict) -> list[tuple[str, str]]:
    """Topic and check of every finding with one of ``verdicts``, sorted."""
    return sorted((one.topic, one.check) for one in report.findings if one.verdict in verdicts)
