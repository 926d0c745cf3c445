"""Test that findings about contents count each record that a ``read_committed`` consumer reads, exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.broker.contents.transactions import (
    ABORTED,
    COMPACTED,
    FUTURE_KIND,
    KINDS,
    MIXED,
    PLACED,
    PLACED_KEYS,
    REMEMBERED,
    SKEWED,
    send,
    transactional,
    wrong,
)
from tests.support.reports import finding
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import EveryPartition
from topicwarden.audit.scan import committed_scan
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import AuditFunction, auditing
from topicwarden.operations.operation_options import AuditOptions

OF_ANY_TOPIC = (
    "header",
    "key-schema",
    "value-schema",
    "record-size",
    "timestamp-future",
    "timestamp-late",
    "timestamp-unit",
    "expression",
)


@pytest.fixture(scope="module", params=[MIXED, COMPACTED])
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def expected(topic: str, written: None, servers: list[str]) -> dict[str, list[int]]:
    return wrong(servers, topic)


@pytest.mark.parametrize("check", OF_ANY_TOPIC)
def test_a_finding_counts_each_committed_record_once(
    report: AuditReport, topic: str, expected: dict[str, list[int]], check: str
) -> None:
    found = finding(report, topic, check)
    assert found.verdict is Verdict.FAIL
    assert (found.evidence["records"], found.evidence["offset"]) == (len(expected[check]), expected[check][0])
    assert "counted" not in found.evidence, "the number is exact"


@pytest.mark.parametrize(("topic", "check"), [(MIXED, "null-key"), (COMPACTED, "empty-value")])
def test_committed_keyless_records_and_empty_values_are_counted(
    report: AuditReport, servers: list[str], topic: str, check: str
) -> None:
    expected = wrong(servers, topic)[check]
    found = finding(report, topic, check)
    assert (found.evidence["records"], found.evidence["offset"]) == (len(expected), expected[0])


@pytest.mark.parametrize("check", [*OF_ANY_TOPIC, "null-key"])
def test_aborted_records_violate_no_contract(report: AuditReport, check: str) -> None:
    assert finding(report, ABORTED, check).verdict is Verdict.PASS


@pytest.mark.parametrize("check", ["partition-skew", "hot-key"])
def test_shares_are_of_committed_records(report: AuditReport, check: str) -> None:
    assert finding(report, SKEWED, check).verdict is Verdict.PASS


def test_the_largest_record_of_a_finding_is_committed(report: AuditReport) -> None:
    assert (
        finding(report, MIXED, "record-size").evidence["largest_record"] == 1_500 + len('{"n": 1, "filler": ""}') + 36
    )


@pytest.fixture(scope="module")
def bounded(written: None, look: AuditFunction) -> AuditReport:
    """The report of an audit that does not read any partition again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committed_scan, "MOST_RECORDS", 0)
        return look(("transactions.*",))


@pytest.mark.parametrize("check", [check for check in OF_ANY_TOPIC if check != "timestamp-late"])
def test_an_upper_bound_is_marked_with_its_reason(
    bounded: AuditReport, topic: str, expected: dict[str, list[int]], check: str
) -> None:
    found = finding(bounded, topic, check)
    assert found.verdict is Verdict.FAIL, "the first ones are committed"
    assert found.message.startswith("at most ")
    assert int(found.evidence["records"] or 0) > len(expected[check])
    assert "aborted or open transactions" in str(found.evidence["counted"])
    assert found.evidence["offset"] == expected[check][0]


def test_possibly_aborted_records_are_no_proof(bounded: AuditReport) -> None:
    contents = {one.check: one.verdict for one in bounded.of_topic(ABORTED) if one.check in (*OF_ANY_TOPIC, "null-key")}
    assert set(contents.values()) == {Verdict.UNDECIDABLE}
    assert finding(bounded, MIXED, "timestamp-late").verdict is Verdict.UNDECIDABLE, (
        "late perhaps only for an aborted one"
    )
    of_every = {name for name, check in CHECKS.items() if issubclass(check.Required, EveryPartition)}
    for check in of_every - {"arrival-count", "arrival-silence"}:  # which this topic does not declare
        assert finding(bounded, SKEWED, check).verdict is Verdict.UNDECIDABLE


def test_the_partitioner_is_detected_from_committed_keys(report: AuditReport) -> None:
    assert finding(report, PLACED, "key-partition").verdict is Verdict.PASS
    reported = finding(report, PLACED, "key-in-several-partitions")
    assert (reported.verdict, reported.message) == (Verdict.PASS, "every key is where murmur2 puts it")
    assert (reported.evidence["keys"], reported.evidence["score_murmur2"]) == (PLACED_KEYS, 1.0)


def test_an_incremental_audit_counts_as_a_full_one(
    written: None, project: Project, servers: list[str], tmp_path: Path
) -> None:
    """A transaction that is open in one audit is aborted or committed before the next audit.

    No record has a future timestamp, because partitions with such records are read completely.
    """
    history = str(tmp_path / "history")

    def audited(since: ReadScope) -> AuditReport:
        with auditing(project, "dev", options=AuditOptions(history, since)) as look:
            return look((REMEMBERED,))

    plain = Producer({"bootstrap.servers": ",".join(servers)})
    aborting, committing = (transactional(servers, f"{REMEMBERED}-{number}") for number in range(2))
    send(plain, REMEMBERED, _past(2 * KINDS), keyless=True)
    audited(ReadScope.LAST)
    send(aborting, REMEMBERED, _past(100), keyless=True)
    send(committing, REMEMBERED, _past(60), keyless=True)
    send(plain, REMEMBERED, _past(40), keyless=True)
    for report in audited(ReadScope.LAST), audited(ReadScope.ALL):
        assert counted(report) == expected_of(servers), "while both are open"
    aborting.abort_transaction()
    committing.commit_transaction()
    send(plain, REMEMBERED, _past(3), keyless=True)
    new = audited(ReadScope.LAST)
    assert new.notes == []
    assert new.remembered_records > 200
    for report in new, audited(ReadScope.ALL):
        assert counted(report) == expected_of(servers), "when both have ended"


REMEMBERED_CHECKS = {*OF_ANY_TOPIC, "null-key"} - {"timestamp-future"}


def _past(numbers: int) -> list[int]:
    return [number for number in range(numbers) if number % KINDS != FUTURE_KIND]


def counted(report: AuditReport) -> dict[str, object]:
    """Return the number of records in each finding about contents."""
    return {check: finding(report, REMEMBERED, check).evidence["records"] for check in REMEMBERED_CHECKS}


def expected_of(servers: list[str]) -> dict[str, int]:
    found = wrong(servers, REMEMBERED)
    return {check: len(found[check]) for check in REMEMBERED_CHECKS}
