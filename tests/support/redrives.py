"""A project whose findings are copied to other topics: it declares topics, writes records and audits them."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.audit.scan.spark_source import source_of
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.redrive.redrive_operation import redrive_finding
from topicwarden.extensions.redrive.redrive_report import RedriveReport
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import RedriveOptions
from topicwarden.report.audit.formats import json as report_json

PARTITIONS: Final = 3
_GOOD: Final = b'{"id": 1}'


class ReadRecord(NamedTuple):
    """A record as another client reads it; ``timestamp`` is in milliseconds."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes]]


@dataclass
class RedriveProject:
    """The project, its cluster, and a Spark session, which audits and redrives of findings need.

    Each test takes topics of its own, with a replica on each broker.
    """

    project: Project
    servers: list[str]
    spark: SparkSession | None
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def brokers(self) -> int:
        """The number of brokers."""
        return len(self.servers)

    def declare(self, source: str, **targets: str) -> str:
        """Create and declare a topic with the settings ``source``, and targets by suffix; return its name.

        The settings are YAML of a flow mapping: ``partitions: 3, contents: {value: {format: json}}``.
        """
        name = f"orders{next(self._numbers)}"
        topics = {name: source, **{f"{name}.{suffix}": settings for suffix, settings in targets.items()}}
        documents = [
            f"{{topic: {topic}, owner: tests, replication_factor: {self.brokers}, {text}}}\n"
            for topic, text in topics.items()
        ]
        (self.project.topics / f"{name}.yaml").write_text("---\n".join(documents), encoding="utf-8")
        new = []
        for topic, text in topics.items():
            number = int(text.partition("partitions: ")[2].partition(",")[0])
            configs = {"cleanup.policy": "compact"} if "cleanup.policy: compact" in text else {}
            new.append(NewTopic(topic, number, self.brokers, topic_configs=configs))
        with connected(self.servers) as admin:
            admin.create_topics(new)
        return name

    def write(
        self, topic: str, values: Sequence[tuple[int, bytes | None, bytes | None]], *, commit: bool = True
    ) -> None:
        """Write partition, key and value of each record in one transaction, which is committed or aborted."""
        now = int(time.time() * 1000)  # retention deletes older records at once
        settings = {"bootstrap.servers": ",".join(self.servers), "transactional.id": f"writer-{os.getpid()}-{topic}"}
        producer = Producer(settings)
        producer.init_transactions(60)
        producer.begin_transaction()
        for partition, key, value in values:
            producer.produce(
                topic, value, key, partition, headers=[("trace", b"t"), ("trace", b"u")], timestamp=now - 3_600_000
            )
        producer.flush(60)
        if commit:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
        Producer(settings).init_transactions(60)  # waits until the markers are in all partitions

    def audit(self, *topics: str) -> AuditReport:
        with auditing(self.project, "dev") as audit_once:
            return audit_once(topics)

    def finding(self, topic: str, check: str) -> tuple[Path, Finding]:
        """Audit the topic; return the file of the report, and its only failing finding of ``check``."""
        return self.found(self.audit(topic), topic, check)

    def found(self, report: AuditReport, topic: str, check: str) -> tuple[Path, Finding]:
        """Return the file of the report, and the only failing finding of ``check`` on the topic."""
        path = self.project.root / f"{topic}-{next(self._numbers)}.json"
        path.write_text(report_json(report), encoding="utf-8")
        findings = [each for each in report.of_topic(topic) if each.check == check]
        (finding,) = findings
        assert finding.verdict is Verdict.FAIL, finding
        return path, finding

    def redrive(
        self,
        found: tuple[Path, Finding],
        target: str,
        *,
        execute: bool = True,
        function: str | None = None,
        most_records: int = 10_000,
    ) -> RedriveReport:
        assert self.spark is not None
        path, finding = found
        options = RedriveOptions(finding.id, target, path, function, most_records, execute)
        return redrive_finding(self.project, "dev", options, spark=source_of(self.spark))

    def copies(self, topic: str) -> list[ReadRecord]:
        """Return the committed records of a topic by partition and offset, read by another client."""
        return committed_records(self.servers, topic)


@contextmanager
def redrive_project(folder: Path, brokers: int, spark: SparkSession | None = None) -> Iterator[RedriveProject]:
    """Run this number of brokers, and yield a project on them, with all files in ``folder``."""
    with own_cache(folder):
        project = project_of(folder / "project", {})
        with running(sandbox_of(project), brokers) as sandbox:
            yield RedriveProject(project, sandbox.bootstrap_servers, spark)


def committed_records(servers: Sequence[str], topic: str) -> list[ReadRecord]:
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(servers),
            "group.id": "tests-never-joined",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
    ended, found = set[int | None](), list[ReadRecord]()
    while len(ended) < len(partitions):
        message = consumer.poll(60)
        assert message is not None
        error = message.error()
        if error is None:
            found.append(_read(message))
        else:
            assert error.code() == KafkaError._PARTITION_EOF
            ended.add(message.partition())
    consumer.close()
    return sorted(found)


def _read(message: Any) -> ReadRecord:
    return ReadRecord(
        message.partition(),
        message.offset(),
        message.timestamp()[1],
        message.key(),
        message.value(),
        list(message.headers() or []),
    )


def origin(copy: ReadRecord) -> tuple[int, int]:
    """Return the partition and the offset that a copy has come from, by its headers."""
    headers = dict(copy.headers)
    return int(headers["topicwarden.redrive.partition"]), int(headers["topicwarden.redrive.offset"])
