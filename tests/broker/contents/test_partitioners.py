"""Which partitioner wrote a topic, told from the keys that real producers placed on a real broker."""

from __future__ import annotations

import pytest

from tests.support.findings import finding
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.verdict import Verdict


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


def test_two_kinds_of_producer_are_told_apart(report: AuditReport) -> None:
    found = several(report, "mixed")
    assert found.message.startswith("two kinds of producer, ")
    assert {"murmur2", "crc32"} <= set(found.message.replace(",", " ").split())


def test_partitions_that_were_added_are_told_from_producers_that_disagree(report: AuditReport) -> None:
    found = several(report, "grown")
    assert found.verdict is Verdict.FAIL
    assert found.because[0] == "one partitioner, murmur2, over 4, then 6 partitions: partitions were added since"
    assert finding(report, "placed.grown-declared", "key-partition").verdict is Verdict.PASS


def test_a_partitioner_of_ones_own_is_known_by_its_consistency(report: AuditReport) -> None:
    found = several(report, "undeclared-own")
    assert found.verdict is Verdict.PASS
    assert "the partitioner is custom" in found.message


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
    assert found.place is not None
    assert found.place.line == 1


def test_a_key_with_more_than_its_share_is_found(report: AuditReport) -> None:
    found = finding(report, "placed.right", "hot-key")
    assert (found.verdict, found.evidence["records"]) == (Verdict.FAIL, 501)
