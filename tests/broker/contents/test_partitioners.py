"""Test that the partitioner of a topic is recognized from keys that real producers wrote to a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker.contents import placed
from tests.support.reports import finding
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import AuditOptions, auditing


def several(report: AuditReport, topic: str) -> Finding:
    return finding(report, f"placed.{topic}", "key-in-several-partitions")


@pytest.mark.parametrize(
    ("topic", "algorithm"),
    [
        ("java", "murmur2"),
        ("kafka-python", "murmur2"),
        ("consistent", "crc32"),
        ("consistent_random", "crc32"),
        ("murmur2", "murmur2"),
        ("murmur2_random", "murmur2"),
        ("fnv1a", "fnv1a"),
        ("fnv1a_random", "fnv1a"),
    ],
)
def test_each_producers_algorithm_scores_one_and_the_others_chance(
    report: AuditReport, topic: str, algorithm: str
) -> None:
    found = several(report, topic)
    scores = {name: share for name, share in found.evidence.items() if name.startswith("score_")}
    assert found.verdict is Verdict.PASS
    assert found.message == f"every key is where {algorithm} puts it"
    assert scores.pop(f"score_{algorithm}") == 1.0
    assert scores and all(isinstance(share, float) and share < 0.75 for share in scores.values()), scores


def test_two_kinds_of_producers_are_distinguished(report: AuditReport) -> None:
    found = several(report, "mixed")
    assert found.message.startswith("two kinds of producer, ")
    assert {"murmur2", "crc32"} <= set(found.message.replace(",", " ").split())


def test_added_partitions_are_distinguished_from_disagreeing_producers(report: AuditReport) -> None:
    found = several(report, "grown")
    assert found.verdict is Verdict.FAIL
    assert found.because[0] == "one partitioner, murmur2, over 4, then 6 partitions: partitions were added since"
    assert finding(report, "placed.grown-declared", "key-partition").verdict is Verdict.PASS


def test_a_custom_partitioner_is_recognized_by_its_consistency(report: AuditReport) -> None:
    found = several(report, "undeclared-own")
    assert found.verdict is Verdict.PASS
    assert "perhaps by a custom one" in found.message


def test_keys_without_a_partitioner_are_counted(report: AuditReport) -> None:
    found = several(report, "scattered")
    assert found.verdict is Verdict.FAIL
    assert "no known partitioner" in found.because[0]


@pytest.mark.parametrize("topic", ["by-letter", "by-function", "right"])
def test_a_declared_partitioner_that_is_followed_passes(report: AuditReport, topic: str) -> None:
    assert finding(report, f"placed.{topic}", "key-partition").verdict is Verdict.PASS


def test_a_declared_partitioner_that_is_not_followed_fails(report: AuditReport) -> None:
    found = finding(report, "placed.wrong", "key-partition")
    assert found.verdict is Verdict.FAIL
    assert found.because[1] == "every key is where crc32 puts it"
    assert found.location is not None
    assert found.location.line == 46


def test_an_empty_key_in_several_partitions_is_a_key(report: AuditReport) -> None:
    found = several(report, "empty")
    assert (found.verdict, found.evidence["keys_in_several"]) == (Verdict.FAIL, 1)
    assert found.because[0].startswith("every key is where crc32 puts it, except for the empty key")
    assert finding(report, "placed.empty", "key-partition").verdict is Verdict.PASS
    hot = finding(report, "placed.empty", "hot-key")
    assert (hot.verdict, hot.evidence["records"]) == (Verdict.FAIL, 600)


def test_keys_only_in_the_first_partition_fail_if_an_earlier_audit_saw_others(
    report: AuditReport, project: Project, servers: list[str], tmp_path: Path
) -> None:
    found = finding(report, "placed.first", "key-partition")
    assert found.verdict is Verdict.UNDECIDABLE
    assert found.because[1].startswith("all keys are in one partition")
    with auditing(project, "dev", options=AuditOptions(str(tmp_path / "history"))) as look:
        assert finding(look(("placed.first",)), "placed.first", "key-partition").verdict is Verdict.UNDECIDABLE
        placed.first(servers, range(150, 250))
        found = finding(look(("placed.first",)), "placed.first", "key-partition")
    assert found.verdict is Verdict.FAIL
    never = found.evidence["never"]
    assert isinstance(never, int)
    assert 60 < never < 100  # about five sixths of the new records' keys


def test_a_key_with_more_than_its_share_is_found(report: AuditReport) -> None:
    found = finding(report, "placed.right", "hot-key")
    assert (found.verdict, found.evidence["records"]) == (Verdict.FAIL, 501)
