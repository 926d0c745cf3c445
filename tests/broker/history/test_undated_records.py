"""Test that records without a timestamp have no age: Kafka takes the time of the last write to their segment."""

from __future__ import annotations

import time

import pytest
from kafka.admin import NewTopic

from tests.support.findings import facts
from topicwarden.kafka.write.config_admin import connected
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import AuditOptions, auditing
from topicwarden.sandbox.scenarios.writer import writing

UNDATED = -1
HOUR_MS = 3_600_000
SETTINGS = {"retention.ms": str(HOUR_MS), "segment.ms": "500"}


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
@pytest.mark.parametrize("also", [None, -2 * HOUR_MS, 2 * HOUR_MS], ids=["alone", "with-old", "with-future"])
def test_a_young_record_without_a_timestamp_does_not_count_as_old(
    project: Project, servers: list[str], history: str, policy: str, also: int | None
) -> None:
    topic = f"h.undated.{policy.replace(',', '.')}.{also}"
    after = {"message.timestamp.after.max.ms": str(2**63 - 1)}
    with connected(servers) as admin:
        admin.create_topics([NewTopic(topic, 1, 1, topic_configs={**SETTINGS, **after, "cleanup.policy": policy})])
    with writing(servers) as writer:
        for number in range(12):
            writer.send(topic, f"key-{number % 5}", "value", timestamp=UNDATED)
            if also is not None and number == 6:
                writer.send(topic, "dated", "value", timestamp=int(time.time() * 1000) + also)
            writer.flush()
    for since in (ReadScope.ALL, ReadScope.LAST, ReadScope.LAST):
        with auditing(project, "dev", options=AuditOptions(history, since)) as audited:
            report = audited((topic,))
        bad = {found.check for found in report.of_topic(topic) if found.verdict in (Verdict.FAIL, Verdict.SUSPECT)}
        assert bad == {"topic-undeclared"}
        if also is None:
            (partition,) = facts(report, topic).partitions
            assert (partition.records, partition.first_timestamp, partition.last_timestamp) == (12, None, None)
            assert facts(report, topic).ages == []
