"""Test partial and throttled audits.

The report must say which share of the records was read, and name the records that retention deleted during the audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pytest
from kafka import TopicPartition
from kafka.admin import NewTopic

from tests.support.reports import facts, finding
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

TOPIC, RECORDS = "w.records", 10_000
EMPTY_AT = 9_000


@pytest.fixture(scope="module")
def servers_filled(servers: list[str]) -> Iterator[list[str]]:
    with connected(servers) as admin:
        admin.create_topics([NewTopic(TOPIC, 2, 1, topic_configs={"cleanup.policy": "compact,delete"})])
    with writing(servers) as writer:
        for number in range(RECORDS):
            value = "" if number == EMPTY_AT else "x" * 400
            writer.send(TOPIC, f"key-{number // 2}", value, partition=number % 2)
    yield servers
    with connected(servers) as admin:
        admin.delete_topics([TOPIC])


def audited(project: Project, bounds: ReadLimits) -> AuditReport:
    with auditing(project, "dev", options=AuditOptions("none", bounds=bounds)) as look:
        return look((TOPIC,))


@pytest.mark.nightly("The suite keeps a sample: both limits select the newest offsets.", stays=("sample",))
@pytest.mark.parametrize(
    "bounds", [ReadLimits(sample=0.25), ReadLimits(max_records=RECORDS // 4)], ids=["sample", "max"]
)
def test_a_partial_audit_reads_the_newest_records_and_weakens_its_verdicts(
    project: Project, servers_filled: list[str], bounds: ReadLimits
) -> None:
    report = audited(project, bounds)
    assert report.coverage == pytest.approx(0.25)
    assert report.scanned_records == RECORDS // 4
    assert {p.read_from for p in facts(report, TOPIC).partitions} == {RECORDS // 2 - RECORDS // 8}
    assert finding(report, TOPIC, "empty-value").verdict is Verdict.FAIL  # faults in read records are reported
    keyless = finding(report, TOPIC, "null-key")
    assert (keyless.verdict, keyless.message) == (
        Verdict.PASS,
        "no fault in the records that were read: the newest 25% of the offsets",
    )
    ratio = finding(report, TOPIC, "compaction-ratio")
    assert ratio.verdict is Verdict.UNDECIDABLE
    assert "without --sample" in ratio.remedy


def test_the_rate_limit_is_kept_and_progress_is_reported(project: Project, servers_filled: list[str]) -> None:
    shares: list[float] = []
    request = AuditRequest("dev", connect_to(project, "dev"), (), (TOPIC,), bounds=ReadLimits(rate=RECORDS * 405 // 4))
    with spark_session(project) as spark:
        audit(spark, request, shares.append)
    assert shares == sorted(shares)
    assert len({share for share in shares if 0 < share < 1}) > 1  # there are only two tasks
    assert shares[-1] == 1


@dataclass(frozen=True)
class Meanwhile(ReadLimits):
    """Delete records after the snapshot and before the first read."""

    servers: tuple[str, ...] = ()

    def apply(self, parts: Iterable[PartitionRead]) -> list[PartitionRead]:
        with connected(self.servers) as admin:
            admin.delete_records({TopicPartition(TOPIC, 0): 1_234, TopicPartition(TOPIC, 1): 7})
        return super().apply(parts)


def test_records_deleted_during_the_scan_are_counted_exactly(project: Project, servers_filled: list[str]) -> None:
    report = audited(project, Meanwhile(servers=tuple(servers_filled)))
    first, second = facts(report, TOPIC).partitions
    assert (first.lost_to_retention, second.lost_to_retention) == (1_234, 7)
    for partition in (first, second):
        assert partition.log_end is not None
        assert partition.log_start == 0
        assert partition.records is not None
        assert partition.records + partition.lost_to_retention + partition.gaps == partition.log_end
    assert report.scanned_records == RECORDS - 1_234 - 7
