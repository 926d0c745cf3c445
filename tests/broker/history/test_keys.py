"""Test that all ways to merge the keys of a partition give the same keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka.admin import NewTopic

from tests.support.findings import facts
from topicwarden.audit.scan import offset_ranges
from topicwarden.kafka.write.config_admin import connected
from topicwarden.model.finding import TopicFacts
from topicwarden.model.project import Project
from topicwarden.operations.audit import AuditOptions, auditing
from topicwarden.sandbox.scenarios.writer import writing

TOPIC, KEYS = "k.keys", 200_000


@pytest.fixture(scope="module")
def whole(project: Project, servers: list[str]) -> Iterator[TopicFacts]:
    """The facts from an audit in which one task reads each partition: ``KeyTable.java`` counts the keys."""
    with connected(servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 2, 1, topic_configs={"cleanup.policy": "compact"})])
    with writing(servers) as writer:
        for number in range(2 * KEYS):
            writer.send(TOPIC, f"key-{number % KEYS:06}", None if number % 11 == 0 else "x" * (number % 13))
    yield audited(project)
    with connected(servers) as admin:
        admin.delete_topics([TOPIC])


def audited(project: Project) -> TopicFacts:
    with auditing(project, "dev", options=AuditOptions("none")) as look:
        return facts(look((TOPIC,)), TOPIC)


def test_every_key_is_counted_once_if_most_keys_are_spilled(whole: TopicFacts) -> None:
    assert sum(one.keys or 0 for one in whole.partitions) == KEYS
    assert sum(one.superseded or 0 for one in whole.partitions) == KEYS


def test_keys_merged_from_several_tasks_are_the_same(
    project: Project, whole: TopicFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offset_ranges, "MOST_OFFSETS", 10_000)
    monkeypatch.setattr(offset_ranges, "_MOST_SHARES", 0.3)
    assert audited(project) == whole
