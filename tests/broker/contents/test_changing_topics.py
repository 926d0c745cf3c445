"""Test audits during which topics are deleted, created again, and get partitions: the others are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import NewPartitions, NewTopic
from pyspark.sql import SparkSession

from tests.broker.contents.records import writing
from tests.support.clients import until
from tests.support.projects import own_cache, project_of
from tests.support.reports import found
from topicwarden.audit import gather
from topicwarden.audit.scan import full_scan
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions

RECORDS = 40
DECLARED = "{owner: team, partitions: 2, replication_factor: 1, contents: {value: {format: json}, " + (
    "key: {partitioner: crc32}}}\n"
)
TOPICS = ("kept", "deleted", "recreated", "grown")


@pytest.fixture
def project(servers: list[str], tmp_path: Path) -> Iterator[Project]:
    """Yield a project of four topics with one wrong record each."""
    settings = f"config: {{'kafka:bootstrapServers': [{', '.join(servers)}], 'kafka:tlsEnabled': false}}\n"
    with own_cache(tmp_path):
        yield project_of(tmp_path / "project", {f"changing.{name}.yaml": DECLARED for name in TOPICS}, settings)
    with connected(servers) as admin:
        left = {*admin.list_topics()} & {f"changing.{name}" for name in TOPICS}
        admin.delete_topics(sorted(left))
        until(lambda: not left & {*admin.list_topics()}, "the topics are gone")


def create(servers: list[str], *topics: str) -> None:
    with connected(servers) as admin:
        admin.create_topics([NewTopic(f"changing.{name}", 2, 1) for name in topics])
    with writing(servers) as producer:
        for name in topics:
            for number in range(RECORDS):
                producer.produce(f"changing.{name}", b"wrong" if number == 3 else b"{}", f"k{number}")


def delete(servers: list[str], *topics: str) -> None:
    names = [f"changing.{name}" for name in topics]
    with connected(servers) as admin:
        admin.delete_topics(names)
        until(lambda: not {*names} & {*admin.list_topics()}, "the topics are gone")


def grow(servers: list[str]) -> None:
    with connected(servers) as admin:
        admin.create_partitions({"changing.grown": NewPartitions(5)})
    with writing(servers) as producer:
        for number in range(RECORDS):
            producer.produce("changing.grown", b"{}", f"k{number}")


def audited(
    project: Project, monkeypatch: pytest.MonkeyPatch, *, before: Callable[[], None], after: Callable[[], None]
) -> AuditReport:
    """Audit, and call ``before`` and ``after`` the first scan, after the snapshot."""
    scans: list[object] = []

    def changing(*arguments: Any, **options: Any) -> Any:
        scans.append(arguments)
        if len(scans) == 1:
            before()
        counts = full_scan.scan(*arguments, **options)
        if len(scans) == 1:
            after()
        return counts

    monkeypatch.setattr(gather, "scan", changing)
    with auditing(project, "dev", options=AuditOptions(history="none")) as audit:
        return audit(("changing.*",))


def judged_without(report: AuditReport, *changed: str) -> None:
    """Assert that all topics but the ``changed`` ones fail as they must, and that the others say what happened."""
    kept = [(f"changing.{name}", "value-schema") for name in sorted({*TOPICS} - {*changed})]
    assert found(report, Verdict.FAIL) == kept
    for name in changed:
        verdicts = {one.verdict for one in report.of_topic(f"changing.{name}")}
        assert verdicts == {Verdict.UNDECIDABLE}
        assert any(note.startswith(f"changing.{name} was deleted") for note in report.notes)


def test_topics_that_change_before_they_are_read(
    servers: list[str], project: Project, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(servers, *TOPICS)

    def change() -> None:
        delete(servers, "deleted", "recreated")
        create(servers, "recreated")
        grow(servers)

    report = audited(project, monkeypatch, before=change, after=lambda: None)
    judged_without(report, "deleted", "recreated")
    (grown,) = (one for one in report.of_topic("changing.grown") if one.check == "key-partition")
    assert (grown.verdict, grown.message) == (
        Verdict.UNDECIDABLE,
        "the topic got 3 more partitions during the audit",
    )


def test_topics_that_change_after_they_were_read(
    servers: list[str], project: Project, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(servers, *TOPICS)

    def change() -> None:
        delete(servers, "recreated")
        create(servers, "recreated")
        grow(servers)

    report = audited(project, monkeypatch, before=lambda: None, after=change)
    judged_without(report, "recreated")
    assert any(note.startswith("changing.grown got 3 more partitions") for note in report.notes)
