"""Test that the partitioner of a topic is recognized from keys that real producers wrote to a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.broker.contents import placed
from tests.support.reports import facts, finding
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions


@contextmanager
def metadata_max_age(project: Project, age: str) -> Iterator[None]:
    """Set how long producers may take to notice new partitions."""
    settings = project.root / "stacks" / "Pulumi.dev.yaml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}  topicwarden:metadataMaxAge: {age}\n", encoding="utf-8")
    yield
    settings.write_text(text, encoding="utf-8")


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


@pytest.mark.parametrize("topic", ["mixed", "grown", "undeclared-own", "scattered"])
def test_where_no_partitioner_explains_every_key_only_shares_are_reported(report: AuditReport, topic: str) -> None:
    found = several(report, topic)
    text = found.message if found.verdict is Verdict.PASS else found.because[0]
    assert found.verdict is (Verdict.FAIL if topic in ("grown", "scattered") else Verdict.PASS)
    assert text.startswith("no known partitioner explains every key with 6 partitions: ")


def test_keys_from_before_partitions_were_added_are_undecidable(report: AuditReport) -> None:
    found = finding(report, "placed.grown-declared", "key-partition")
    assert (found.verdict, found.evidence["fit_none"], found.evidence["proven"]) == (Verdict.UNDECIDABLE, 0, 0)


def test_an_ordinary_mirror_of_more_partitions_that_is_grown_later_is_no_fail(report: AuditReport) -> None:
    """One consumer hands out long runs of one partition, so that keys depend on their own hashes."""
    found = finding(report, "placed.mirror", "key-partition")
    assert (found.verdict, found.evidence["fit_none"], found.evidence["proven"]) == (Verdict.UNDECIDABLE, 0, 0)


@pytest.mark.parametrize("topic", ["by-letter", "by-function", "right"])
def test_a_declared_partitioner_that_is_followed_passes(report: AuditReport, topic: str) -> None:
    assert finding(report, f"placed.{topic}", "key-partition").verdict is Verdict.PASS


def test_a_declared_partitioner_that_is_not_followed_fails(report: AuditReport) -> None:
    found = finding(report, "placed.wrong", "key-partition")
    assert found.verdict is Verdict.FAIL
    assert found.because[-1] == "every key is where crc32 puts it"
    assert found.location is not None
    assert found.location.line == 46


def test_an_empty_key_in_several_partitions_is_a_key(report: AuditReport) -> None:
    found = several(report, "empty")
    assert (found.verdict, found.evidence["keys_in_several"]) == (Verdict.FAIL, 1)
    assert found.because[0].startswith("every key is where crc32 puts it, except for the empty key")
    assert finding(report, "placed.empty", "key-partition").verdict is Verdict.PASS
    hot = finding(report, "placed.empty", "hot-key")
    assert (hot.verdict, hot.evidence["records"]) == (Verdict.FAIL, 600)


def test_keys_of_a_java_producer_that_has_not_noticed_new_partitions_are_undecidable(
    report: AuditReport,
) -> None:
    found = finding(report, "placed.stale", "key-partition")
    filled = {each.partition for each in facts(report, "placed.stale").partitions if each.records}
    assert filled == {0, 1, 2}  # it wrote half of its keys after the topic had six
    assert (found.verdict, found.evidence["fit_none"], found.evidence["proven"]) == (Verdict.UNDECIDABLE, 0, 0)


def test_keys_behind_an_end_of_an_earlier_audit_fail_as_long_as_they_are_there(
    report: AuditReport, project: Project, servers: list[str], tmp_path: Path
) -> None:
    """The margin is 0: producers are expected to know today's partitions when the second audit sees them."""
    assert finding(report, "placed.first", "key-partition").verdict is Verdict.UNDECIDABLE
    options = AuditOptions(str(tmp_path / "history"))

    def audit() -> Finding:
        return finding(look(("placed.first",)), "placed.first", "key-partition")

    with metadata_max_age(project, "0s"), auditing(project, "dev", options=options) as look:
        assert audit().verdict is Verdict.UNDECIDABLE
        placed.first(servers, range(150, 250))
        verdicts = [audit() for _ in range(2)]
    assert {found.verdict for found in verdicts} == {Verdict.FAIL}
    (proven,) = {found.evidence["proven"] for found in verdicts}
    assert isinstance(proven, int)
    assert 60 < proven < 100  # about five sixths of the new records' keys


def test_a_key_with_more_than_its_share_is_found(report: AuditReport) -> None:
    found = finding(report, "placed.right", "hot-key")
    assert (found.verdict, found.evidence["records"]) == (Verdict.FAIL, 501)
