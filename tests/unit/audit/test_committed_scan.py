"""Test the second read of partitions that may hold records of aborted transactions, without Spark."""

from __future__ import annotations

from typing import cast

import pytest
from pyspark.sql import SparkSession

from tests.support.subjects import HORIZON, NOW, subject
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.judge import results_of
from topicwarden.audit.scan import committed_scan
from topicwarden.audit.scan.contracts import NO_CONTRACTS
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts, SchemaIdCount
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.partition_reads import PartitionRead
from topicwarden.kafka.connect.connection import Connection
from topicwarden.model.contents import Contents
from topicwarden.model.verdict import Verdict

AT = ("t", 0)
FIRST_SCAN = PartitionCounts(
    records=99,
    null_keys=1,
    first_null_key=7,
    empty_values=1,
    first_empty_value=8,
    last_gap=5,
    faults=(ContentFault("value-schema", "no JSON", 3, (1, 2, 3)),),
    schema_ids=(SchemaIdCount("value", 4, 1, 9),),
)


def read_again(monkeypatch: pytest.MonkeyPatch, found: PartitionCounts) -> PartitionCounts:
    """Return the committed counts if the second read of a partition finds ``found``."""
    monkeypatch.setattr(committed_scan, "scan", lambda *_, **__: {AT: found})
    read = PartitionRead(OffsetRange(0, *AT, 0, 100), compacted=False, horizon=HORIZON)
    return committed_scan.committed_counts(
        lambda: cast(SparkSession, None),
        cast(Connection, None),
        [read],
        {AT: FIRST_SCAN},
        contracts=NO_CONTRACTS,
        now=NOW,
        rate=None,
    )[AT]


def test_faults_of_a_partition_that_cannot_be_read_again_are_undecidable(monkeypatch: pytest.MonkeyPatch) -> None:
    committed = read_again(monkeypatch, PartitionCounts(records=40, unread="no broker answered, from offset 40 on"))
    assert (committed.at_most, committed.unread, committed.null_keys, committed.empty_values) == (True, None, 1, 1)
    assert [(each.records, each.unconfirmed) for each in committed.schema_ids] == [(1, True)]
    contents = Contents.model_validate({"key": {"required": True}, "value": {"format": "json"}})
    of = subject(committed, contents=contents, live={"cleanup.policy": "compact"})
    for check in ("null-key", "empty-value", "value-schema"):
        assert [each.verdict for each in results_of(CHECKS[check], of) or ()] == [Verdict.UNDECIDABLE], check


def test_a_partition_that_is_read_again_has_exactly_the_committed_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_again(monkeypatch, found := PartitionCounts(records=40)) == found
