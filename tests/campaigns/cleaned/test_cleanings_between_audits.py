"""Test that ``--since last`` agrees with a full audit when the cleaner removes records between two audits.

``TOPICWARDEN_AGREEMENTS`` is the number of random histories, ``TOPICWARDEN_SEED`` selects others.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.projects import own_cache, project_of
from tests.support.reports import facts, finding
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.compaction import wait_until_clean
from topicwarden.extensions.sandbox.scenarios.writer import Writer, writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.toolchain import Toolchain

JSON = '{"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}'


@pytest.fixture(scope="module")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    contents = "{key: {required: true}, value: {format: json, schema: n.json}, records: {max_bytes: 60}}"
    config = "{cleanup.policy: compact}"
    declared = f"{{partitions: 2, replication_factor: 1, config: {config}, contents: {contents}}}"
    files = {f"c.{name}.yaml": declared for name in ("scene", *(f"random.{number}" for number in range(HISTORIES)))}
    with own_cache(tmp_path_factory.mktemp("cleaned")) as folder:
        yield project_of(folder / "project", {**files, "n.json": JSON})


@pytest.fixture(scope="module")
def sandbox(project: Project) -> Iterator[Sandbox]:
    sandbox = sandbox_of(project)
    with running(sandbox, brokers=1, overrides={"log.cleaner.backoff.ms": "300"}):
        yield sandbox


@pytest.fixture(scope="module")
def servers(sandbox: Sandbox) -> list[str]:
    return sandbox.bootstrap_servers


@pytest.fixture(scope="module", autouse=True)
def session(spark: SparkSession) -> None:
    """All audits of this package use the session of the process."""


EAGER = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
HISTORIES = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "1"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "0"))
ROUNDS = 6


@dataclass
class Audits:
    """Audits of one project with one history."""

    project: Project
    history: str

    def __call__(self, since: ReadScope, topic: str) -> AuditReport:
        with auditing(self.project, "dev", options=AuditOptions(self.history, since)) as audited:
            return audited((topic,))


@pytest.fixture
def audit(project: Project, tmp_path: object) -> Audits:
    return Audits(project, f"{tmp_path}/history")


def create(servers: list[str], name: str, **settings: str) -> None:
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 2, 1, topic_configs=EAGER | settings)])


def rolled(writer: Writer, topic: str) -> None:
    """Write a record to each partition that rolls the active segment."""
    writer.flush()
    time.sleep(0.2)
    for partition in (0, 1):
        writer.send(topic, f"rolls-{partition}", '{"n": 0}', partition=partition)


def test_an_invalid_record_that_the_cleaner_removed_no_longer_fails(
    audit: Audits, servers: list[str], sandbox: Sandbox
) -> None:
    create(servers, "c.scene")
    with writing(servers) as writer:
        for number in range(100):
            writer.send("c.scene", f"a{number}", '{"n": "x"}' if number == 5 else '{"n": 1}', partition=0)
        rolled(writer, "c.scene")
    wait_until_clean(sandbox, "c.scene")
    assert finding(audit(ReadScope.LAST, "c.scene"), "c.scene", "value-schema").verdict is Verdict.FAIL
    with writing(servers) as writer:
        for number in range(3, 8):
            writer.send("c.scene", f"a{number}", '{"n": 2}', partition=0)
        rolled(writer, "c.scene")
    wait_until_clean(sandbox, "c.scene")
    report = audit(ReadScope.LAST, "c.scene")
    assert finding(report, "c.scene", "value-schema").verdict is Verdict.PASS
    assert "1 partition read in full: the cleaner removed records" in report.notes


def numbers(report: AuditReport, topic: str) -> object:
    """Return what a report says of the records of a topic, without the numbers that ``--since last`` bounds."""
    reported = sorted(
        (found.check, found.verdict, str(found.partitions), found.message) for found in report.of_topic(topic)
    )
    partitions = [partition.model_dump(exclude={"log_bytes"}) for partition in facts(report, topic).partitions]
    return reported, partitions


def steps(random: random.Random, writer: Writer, topic: str) -> Iterator[Callable[[], None]]:
    """Yield a random number of random steps, from single records to batches of keys that are old, new or deleted."""
    keys = ["", *(f"key-{number}" for number in range(random.choice((3, 40, 400))))]
    values = ('{"n": 1}', '{"n": "x"}', "", None, f'{{"n": {10**70}}}')
    weights = (20, 1, 1, random.choice((0, 1, 8)), 1)

    def write() -> None:
        for _ in range(random.choice((1, 2, 30, 500))):
            key = random.choice(keys)
            writer.send(topic, key, random.choices(values, weights)[0], partition=len(key) % 2)

    for _ in range(random.randrange(4)):
        yield random.choice((write, write, lambda: rolled(writer, topic)))


@pytest.mark.nightly("campaigns/history keeps random rounds, and an invalid record that the cleaner removed stays.")
@pytest.mark.parametrize("number", range(HISTORIES))
def test_a_random_history_has_the_numbers_of_a_full_audit(
    audit: Audits, servers: list[str], sandbox: Sandbox, number: int
) -> None:
    print(f"TOPICWARDEN_AGREEMENTS={HISTORIES} TOPICWARDEN_SEED={SEED}")
    drawn, topic = random.Random(SEED + number), f"c.random.{number}"
    create(servers, topic, **{"delete.retention.ms": drawn.choice(("100", "1000", "86400000"))})
    for round_of in range(ROUNDS):
        with writing(servers) as writer:
            for step in steps(drawn, writer, topic):
                step()
            if drawn.random() < 0.5:
                rolled(writer, topic)
        if drawn.random() < 0.7:
            time.sleep(1)  # the cleaner may run, or not
        while True:
            before, new, after = (audit(scope, topic) for scope in (ReadScope.ALL, ReadScope.LAST, ReadScope.ALL))
            if numbers(before, topic) == numbers(after, topic):
                break
        assert numbers(new, topic) == numbers(before, topic), f"round {round_of}"
