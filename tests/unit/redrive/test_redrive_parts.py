"""Test what a redrive decides without a cluster: ids of findings, the records of a finding, targets and functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from kafka import OffsetAndMetadata, TopicPartition
from kafka.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    KafkaTimeoutError,
    OffsetOutOfRangeError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailedError,
)

from tests.support.projects import project_of
from topicwarden.audit import finding_records
from topicwarden.audit.finding_records import RecordSearch, confirmed, rule_of
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.extensions.redrive.redrive_copy import RedriveTarget, allowed_target
from topicwarden.extensions.redrive.redrive_operation import redrive_finding, redrive_name
from topicwarden.kafka.connect import clients
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.request_errors import denied_permission
from topicwarden.kafka.read import records_at_offsets
from topicwarden.kafka.read.records_at_offsets import CommittedReader, StoredRecord, read_progress
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kafka.write.transactional_copy import repair_function
from topicwarden.model.access import Grant, TopicAccess
from topicwarden.model.contents import Contents
from topicwarden.model.finding import AuditReport, Finding, TopicFacts
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict
from topicwarden.operations.operation_options import RedriveOptions
from topicwarden.report.audit.formats import json as report_json

EVIDENCE: dict[str, int | float | str | None] = {"records": 3, "partition": 0, "offset": 17}
FINDING = Finding(
    id="f1",
    check="value-schema",
    verdict=Verdict.FAIL,
    topic="orders",
    partitions=[0],
    message="3 records …",
    evidence=EVIDENCE,
)
RECORD = StoredRecord("orders", 1, 5, 1_000, b"key", b"secret value", (("trace", b"t"),))


def report(findings: list[Finding], topic_id: str = "A", stack: str = "dev") -> AuditReport:
    facts = TopicFacts(name="orders", domain="", declared=True, topic_id=topic_id)
    return AuditReport(
        topicwarden="1", stack=stack, cluster_id="c", started=1, finished=2, scanned_records=0, scan_seconds=0,
        topics=[facts], findings=findings,
    )  # fmt: skip


def test_the_id_of_a_finding_is_that_of_what_was_found() -> None:
    plain = FINDING.model_copy(update={"id": ""})
    (found,) = report([plain]).findings
    assert len(found.id) == 12
    assert report([plain.model_copy(update={"remedy": "other", "since": 7})]).findings[0].id == found.id
    others = [
        report([plain.model_copy(update={"evidence": {**EVIDENCE, "records": 4}})]),
        report([plain.model_copy(update={"partitions": [1]})]),
        report([plain.model_copy(update={"message": "that do not satisfy other"})]),
        report([plain], topic_id="B"),
        report([plain], stack="prod"),
    ]
    assert len({found.id, *(each.findings[0].id for each in others)}) == 6
    assert report([plain.model_copy(update={"verdict": Verdict.PASS})]).findings[0].id == ""
    read_again = AuditReport.model_validate_json(report_json(report([plain])))
    assert read_again.findings[0].id == found.id


def test_the_rule_of_a_finding_is_refused_if_its_records_are_not_exact() -> None:
    assert rule_of(FINDING) == "value-schema"
    expression = {
        "check": "expression",
        "message": "3 records that do not satisfy small, first at offset 17 of partition 0",
    }
    assert rule_of(FINDING.model_copy(update=expression)) == "expression:small"
    bound = {"records": 3, "offset": 1, "counted": "at most: …"}
    refused: list[tuple[dict[str, object], str]] = [
        ({"check": "hot-key"}, "do not name single records"),
        ({"verdict": Verdict.UNDECIDABLE}, "is undecidable: expected a fail"),
        ({"evidence": bound}, "only a bound"),
    ]
    refused += [
        ({"evidence": {**EVIDENCE, name: value}}, f"has no number as {name} in its evidence")
        for name in EVIDENCE
        for value in (None, "many", 1.5)
    ]
    for update, reason in refused:
        with pytest.raises(Refusal, match=reason):
            rule_of(FINDING.model_copy(update=update))


@pytest.mark.parametrize(
    ("found", "start", "compacted", "deleted"),
    [
        ((17, 18, 30), 0, False, 0),
        ((18, 30), 18, False, 1),
        ((30,), 20, False, 2),
        ((17, 30), 0, True, 1),
        ((), 99, False, 3),
    ],
)
def test_records_are_confirmed_by_number_and_first_offset(
    found: tuple[int, ...], start: int, compacted: bool, deleted: int
) -> None:
    result = confirmed(FINDING, {0: found}, {0: 0}, {0: start}, compacted=compacted)
    assert (result.records, result.deleted) == (len(found), deleted)


@pytest.mark.parametrize(
    ("found", "start", "reason"),
    [
        ((17, 18, 30, 31), 0, "has 3 records, and 4 are found now"),
        ((17, 18), 0, "has 3 records, and only 2 are found now"),
        ((16, 18, 30), 0, "that record is not among"),
        ((18, 30), 5, "that record is not among"),
    ],
)
def test_other_records_than_those_of_the_finding_are_refused(found: tuple[int, ...], start: int, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        confirmed(FINDING, {0: found}, {0: 0}, {0: start}, compacted=False)


def test_the_name_of_a_redrive_depends_on_the_predicate_that_its_rule_needs() -> None:
    contract = {"records": {"value": {"format": "json"}, "largest": 10, "latest": 99}}
    name = redrive_name("c", ("A", "B"), "value-schema", contract)
    assert name.startswith("topicwarden-redrive-")
    same = {"records": {"value": {"format": "json"}, "largest": 20, "latest": 100}, "partitions": 4}
    assert redrive_name("c", ("A", "B"), "value-schema", same) == name
    other = {"records": {"value": {"format": "avro"}}}
    assert redrive_name("c", ("A", "B"), "value-schema", other) != name
    assert redrive_name("c", ("A", "C"), "value-schema", contract) != name
    assert redrive_name("c", ("A", "B"), "record-size", contract) != redrive_name("c", ("A", "B"), "record-size", same)


def target(
    contents: str = "{}", partitions: int = 3, access: TopicAccess | None = None, policy: str = "delete"
) -> RedriveTarget:
    topic = Topic(
        "repaired",
        partitions,
        1,
        config={"cleanup.policy": policy},
        contents=Contents.model_validate_json(contents),
        access=access or TopicAccess(),
    )
    return RedriveTarget(topic, LiveTopic(topic, "B", {}, ()), 3)


def test_a_copy_stays_in_its_partition_or_goes_to_that_of_its_key() -> None:
    copy = target().copy_of(RECORD, RECORD, [("origin", b"1")])
    assert (copy.partition, copy.key, copy.value, copy.timestamp) == (1, b"key", b"secret value", 1_000)
    assert copy.headers == (("trace", b"t"), ("origin", b"1"))
    known = StoredRecord("orders", 1, 5, 1_000, b"foobar", None)
    murmur2, crc32_hash = -790332482 & 0x7FFFFFFF, 0x9EF61F95  # as Kafka's UtilsTest and zlib have them
    assert target(partitions=7).copy_of(known, known, ()).partition == murmur2 % 7
    assert target(partitions=3).copy_of(RECORD, known, ()).partition == murmur2 % 3
    crc32 = '{"key": {"partitioner": "crc32"}}'
    assert target(crc32, partitions=100).copy_of(known, known, ()).partition == crc32_hash % 100
    keyless = StoredRecord("orders", 5, 5, 1_000, None, b"v")
    assert target(partitions=2).copy_of(keyless, keyless, ()).partition == 1


@pytest.mark.parametrize(
    ("contents", "policy", "record", "reason"),
    [
        ("{}", "compact", StoredRecord("t", 0, 1, 1, None, b"secret"), "it has no key, and the topic is compacted"),
        (
            '{"key": {"required": true}}',
            "delete",
            StoredRecord("t", 0, 1, 1, None, b"secret"),
            "contents.key.required is true",
        ),
        ('{"headers": {"required": ["a"]}}', "delete", RECORD, 'it lacks the header "a"'),
        ('{"records": {"max_bytes": 3}}', "delete", RECORD, "expected at most 3 bytes"),
        ("{}", "delete", StoredRecord("t", 0, 1, 1, b"", b"", (("a", None),)), "a header without a value"),
    ],
)
def test_a_record_that_the_target_does_not_allow_is_refused(
    contents: str, policy: str, record: StoredRecord, reason: str
) -> None:
    with pytest.raises(Refusal, match=reason) as refused:
        target(contents, policy=policy).copy_of(record, record, ())
    assert "secret" not in str(refused.value)
    assert str(refused.value).startswith(record.location)


def test_only_declared_producers_may_write_to_the_target() -> None:
    connection = Connection(("b:1",), sasl_mechanism="PLAIN", username="me", password="p")
    assert "declares no producers" in str(allowed_target(target().declared, connection, "topicwarden-redrive-1"))
    mine = Grant("User:me", name="topicwarden-redrive-", prefix=True)
    allowed = target(access=TopicAccess(produce=(Grant("User:other"), mine))).declared
    assert allowed_target(allowed, connection, "topicwarden-redrive-1") is None
    assert "is not known" in str(allowed_target(allowed, Connection(("b:1",)), "topicwarden-redrive-1"))
    without_id = target(access=TopicAccess(produce=(Grant("User:me"),))).declared
    assert "no declared producer" in str(allowed_target(without_id, connection, "topicwarden-redrive-1"))
    others = target(access=TopicAccess(produce=(Grant("User:other"),))).declared
    with pytest.raises(Refusal, match=r"is not written by User:me.* got User:other"):
        allowed_target(others, connection, "topicwarden-redrive-1")


def test_a_misspelled_target_is_not_corrected_to_the_topic_of_the_finding(tmp_path: Path) -> None:
    declared = dict.fromkeys(("orders.placed.v1", "repairs"), "partitions: 1\nreplication_factor: 1\n")
    project = project_of(tmp_path, {f"topics/{name}.yaml": text for name, text in declared.items()})
    path = tmp_path / "report.json"
    path.write_text(report_json(report([FINDING.model_copy(update={"topic": "orders.placed.v1"})])), encoding="utf-8")
    refusals = []
    for target in ("orders.placed.v2", "repair"):
        with pytest.raises(Refusal) as refused:
            redrive_finding(project, "dev", RedriveOptions("f1", target, path))
        refusals.append(str(refused.value).partition("topics/")[2])
    assert refusals == ["", "; did you mean repairs?"]


def test_a_repair_function_is_refused_without_showing_the_record(tmp_path: Path) -> None:
    (tmp_path / "redrive_repairs.py").write_text(
        "def good(key, value, headers): return key, value + b'!', headers\n"
        "def none(key, value, headers): return None\n"
        "def fails(key, value, headers): raise ValueError(value)\n"
        "def text(key, value, headers): return key, value.decode(), headers\n"
        "def single(key, value, headers): return value\n"
        "def ends(key, value, headers): raise SystemExit(value)\n"
        "def surrogate(key, value, headers): return key, value, [('\\ud800', value)]\n",
        encoding="utf-8",
    )
    repaired = repair_function("redrive_repairs:good", tmp_path)(RECORD)
    assert repaired is not None
    assert (repaired.value, repaired.headers, repaired.offset) == (b"secret value!", RECORD.headers, 5)
    assert repair_function("redrive_repairs:none", tmp_path)(RECORD) is None
    for name, reason in {
        "fails": "failed with ValueError",
        "ends": "failed with SystemExit",
        "text": "another type",
        "single": "returned bytes",
        "surrogate": "another type",
    }.items():
        with pytest.raises(Refusal, match=rf"orders, partition 1, offset 5: .*{reason}") as refused:
            repair_function(f"redrive_repairs:{name}", tmp_path)(RECORD)
        assert "secret" not in str(refused.value)
        assert refused.value.__cause__ is None
    assert "secret" not in repr(RECORD)
    for wrong, reason in {
        "redrive_repairs": "expected module:function",
        "redrive_repairs:absent": 'has no function "absent"',
        "redrive_absent:fix": "the import of redrive_absent failed",
    }.items():
        with pytest.raises(Refusal, match=reason):
            repair_function(wrong, tmp_path)


def test_any_limit_fits_the_integers_of_the_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    contracts: list[Contracts] = []

    def read_ranges(*arguments: Any) -> None:
        contracts.append(arguments[-1])
        raise Refusal("enough")

    monkeypatch.setattr(finding_records, "pack_tasks", lambda *_: [])
    monkeypatch.setattr(finding_records, "read_ranges", read_ranges)
    for most in (1, 10_000, 10**12):
        search = RecordSearch("finding f1", "orders", "value-schema", {0: (0, 9)}, {}, None, most)
        with pytest.raises(Refusal, match="enough"):
            finding_records.find_records(lambda: None, Connection(("b:1",)), search)  # type: ignore[arg-type, return-value]
    assert [each.topics["orders"]["offsets"] for each in contracts] == [2, 10_001, 2**31 - 1]


@pytest.mark.parametrize("metadata", ["", "copied by hand", "-1", "²", "1.5"])
def test_progress_that_another_program_has_committed_is_refused(metadata: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Consumer:
        def __init__(self, **_: object) -> None: ...

        def committed(self, *_: object, **__: object) -> OffsetAndMetadata:
            return OffsetAndMetadata(5, metadata, -1)

        def close(self, **_: object) -> None: ...

    monkeypatch.setattr(clients, "KafkaConsumer", Consumer)
    with pytest.raises(Refusal, match=r"partition 3 in the group topicwarden-redrive-1 is not of a redrive"):
        read_progress(Connection(("b:1",)), "topicwarden-redrive-1", "orders", [3], settled=False)


@pytest.mark.parametrize(
    ("error", "permission"),
    [
        (TopicAuthorizationFailedError(), "Write on the topic"),
        (GroupAuthorizationFailedError(), "Read on the group"),
        (TransactionalIdAuthorizationFailedError(), "Write on the transactional id"),
        (KafkaTimeoutError(), None),
    ],
)
def test_an_error_names_the_missing_permission_also_as_a_cause(error: Exception, permission: str | None) -> None:
    assert denied_permission(error, on_topics="Write") == permission
    wrapped = KafkaError("the transaction failed")
    wrapped.__cause__ = error
    assert denied_permission(wrapped, on_topics="Write") == permission


def test_a_log_that_was_truncated_ends_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    at = TopicPartition("orders", 0)
    slept: list[float] = []
    clock = Mock(sleep=slept.append, monotonic=lambda: float(len(slept)))
    monkeypatch.setattr(records_at_offsets, "time", clock)
    consumer = Mock()
    consumer.poll.side_effect = OffsetOutOfRangeError()
    consumer.beginning_offsets.return_value = {at: 3}
    with pytest.raises(Refusal, match="orders, partition 0: no record at offset 7 for a minute"):
        list(CommittedReader(consumer).records("orders", {0: [1, 7]}))
    assert len(slept) < 70
