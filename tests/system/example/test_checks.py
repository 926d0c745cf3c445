"""Test the faults that one topic can have. Each fault has its own topic, in addition to the example's topics."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kafka.admin import NewTopic

from tests.support.projects import project_of
from tests.support.reports import facts, finding, found
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.write.config_admin import set_topic
from topicwarden.model.finding import AuditReport
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import AuditFunction, auditing

TOPICS = {
    "checks.values.yaml": "{partitions: 1, replication_factor: 3, config: {cleanup.policy: compact}}",
    "checks.empty.yaml": "{partitions: 2, replication_factor: 3, contents: {key: {required: true}}}",
    "checks.absent.yaml": "{partitions: 1, replication_factor: 3}",
    "checks.drifted.yaml": """\
partitions: 2
replication_factor: 3
config:
  retention.ms: 1d
  max.message.bytes: 1MiB
""",
}
LIVE = {
    "checks.values": (1, {"cleanup.policy": "compact"}),
    "checks.empty": (2, {}),
    "checks.drifted": (4, {"retention.ms": "86400000", "max.message.bytes": "1048576"}),
    "checks.stray": (1, {}),
}


@pytest.fixture(scope="module")
def beside(
    report: AuditReport, look: AuditFunction, servers: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[AuditReport]:
    """The audit of these topics.

    The topics are created after the example's report and deleted before other tests continue.
    """
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, parts, 3, topic_configs=config) for name, (parts, config) in LIVE.items()])
    try:
        with writing(servers) as writer:
            for key, value in [("a", "1"), ("b", ""), ("c", "3"), ("c", None), ("a", "2"), ("d", ""), ("e", None)]:
                writer.send("checks.values", key, value)
        set_topic(servers, "checks.drifted", {"retention.ms": "7200000", "segment.ms": "3600000"})
        with auditing(project_of(tmp_path_factory.mktemp("beside"), TOPICS), "dev") as audit:
            yield audit(("checks.*",))
    finally:
        with connected(servers) as admin:
            admin.delete_topics(list(LIVE))


def test_only_the_planted_errors_are_found(beside: AuditReport) -> None:
    assert found(beside, Verdict.FAIL) == [
        ("checks.absent", "topic-missing"),
        ("checks.drifted", "config-drift"),
        ("checks.drifted", "config-drift"),
        ("checks.drifted", "partition-count"),
        ("checks.stray", "topic-undeclared"),
        ("checks.values", "empty-value"),
    ]
    assert found(beside, Verdict.SUSPECT, Verdict.UNDECIDABLE) == []


def test_empty_values_and_tombstones_are_distinguished(beside: AuditReport) -> None:
    (values,) = facts(beside, "checks.values").partitions
    assert (values.records, values.keys, values.superseded) == (7, 5, 2)
    assert (values.tombstones, values.empty_values, values.null_keys) == (2, 2, 0)
    assert values.payload_bytes == 7 + 3
    empty = finding(beside, "checks.values", "empty-value")
    assert empty.evidence == {"records": 2, "partition": 0, "offset": 1}
    assert "2 records" in empty.message


def test_settings_are_compared_with_their_sources(beside: AuditReport) -> None:
    drifts = [one for one in beside.of_topic("checks.drifted") if one.check == "config-drift"]
    changed, undeclared = drifts
    assert str(changed.location) == "topics/checks.drifted.yaml:4:17"
    assert changed.evidence == {
        "setting": "retention.ms",
        "declared": "86400000",
        "live": "7200000",
        "source": "DYNAMIC_TOPIC_CONFIG",
    }
    assert undeclared.evidence["setting"] == "segment.ms"
    assert undeclared.evidence["declared"] is None
    assert undeclared.evidence["live"] == "3600000"


def test_a_topic_without_records_passes(beside: AuditReport) -> None:
    assert facts(beside, "checks.empty").records == 0
    assert {one.verdict for one in beside.of_topic("checks.empty")} == {Verdict.PASS}


def test_topics_that_only_one_side_knows_are_shown_as_such(beside: AuditReport) -> None:
    absent, stray = facts(beside, "checks.absent"), facts(beside, "checks.stray")
    assert (absent.declared, absent.partitions, absent.topic_id) == (True, [], None)
    assert stray.declared is False
    assert [one.check for one in beside.of_topic("checks.absent")] == ["topic-missing"]
    assert str(finding(beside, "checks.absent", "topic-missing").location).startswith("topics/checks.absent.yaml:1:")
