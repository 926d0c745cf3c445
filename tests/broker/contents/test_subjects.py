"""Test the checks of declared subjects with a real broker and a real Schema Registry.

``TOPICWARDEN_AGREEMENTS`` is the number of random histories, ``TOPICWARDEN_SEED`` selects others.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka import TopicPartition
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.broker.contents.records import writing
from tests.broker.contents.registry import wire
from tests.support.projects import own_cache, project_of, write_topics
from tests.support.reports import comparable, finding
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.write import register, set_compatibility
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.finding import AuditReport, Finding
from topicwarden.model.project import Project
from topicwarden.model.subject import RegisteredSchema
from topicwarden.model.verdict import ReadScope, Verdict
from topicwarden.operations.audit import auditing
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.specs.stacks.registry_settings import RegistrySettings

HISTORIES = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "1"))
SEED = int(os.environ.get("TOPICWARDEN_SEED", "1"))
ROUNDS = int(os.environ.get("TOPICWARDEN_ROUNDS", "3"))
"""The changes of each history. Every third one may deploy, beginning with the first."""
CHECKS = ("registered-schema", "schema-version", "unused-schema-version")
BACKWARD, FULL, NONE = Compatibility.BACKWARD, Compatibility.FULL, Compatibility.NONE


def schema(version: int) -> str:
    """Return a schema with ``version`` fields, which can read the records of all other versions."""
    fields = [{"name": f"f{number}", "type": "int", "default": 0} for number in range(version)]
    return json.dumps({"type": "record", "name": "Event", "fields": fields})


def value(id: int, version: int) -> bytes:
    return wire(id, b"\x02" * version)


class Registry:
    """The test's own writes to the registry, in the place of deploys and of producers that register schemas."""

    def __init__(self, client: RegistryClient) -> None:
        self._client = client

    def register(self, topic: str, *versions: int) -> list[int]:
        """Register versions of the topic's schema, and return their ids."""
        subject = f"{topic}-value"
        return [register(self._client, subject, RegisteredSchema("avro", schema(each))).id for each in versions]

    def set_level(self, topic: str, level: Compatibility) -> None:
        set_compatibility(self._client, f"{topic}-value", level)

    def delete(self, topic: str, version: int) -> None:
        self._client.delete("subjects", f"{topic}-value", "versions", str(version))


@pytest.fixture(scope="module")
def registered(registry_url: str) -> Iterator[Registry]:
    with RegistryClient(RegistrySettings(registry_url)) as client:
        yield Registry(client)


@pytest.fixture(scope="module")
def project(
    servers: list[str], registry_url: str, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Project]:
    with own_cache(tmp_path_factory.mktemp("subjects")) as folder:
        project = project_of(folder / "project", {}, stack_settings(servers, registry_url))
        (project.root / "policies").mkdir()
        (project.root / "policies" / "use.yaml").write_text("usage: {unused_schema_versions: true}\n", encoding="utf-8")
        for version in range(1, 7):
            write_topics(project, {f"schemas/{version}.avsc": schema(version)})
        yield project


def stack_settings(servers: Sequence[str], url: str, **registry: str) -> str:
    return json.dumps(
        {
            "config": {
                "kafka:bootstrapServers": list(servers),
                "kafka:tlsEnabled": False,
                "topicwarden:schemaRegistry": {"url": url, **registry},
            }
        }
    )


def declare(project: Project, topic: str, version: int, level: Compatibility | None = None) -> None:
    registry = f"\n      compatibility: {level}" if level else " {}"
    text = (
        "partitions: 1\nreplication_factor: 1\ncontents:\n  value:\n    format: avro\n"
        f"    schema: schemas/{version}.avsc\n    registry:{registry}\n"
    )
    write_topics(project, {f"{topic}.yaml": text})


def create(servers: Sequence[str], *topics: str, **settings: str) -> None:
    with connected(servers) as admin:
        admin.create_topics([NewTopic(topic, 1, 1, topic_configs=settings) for topic in topics])


def write(servers: Sequence[str], topic: str, *values: bytes | None) -> None:
    with writing(servers) as producer:
        for each in values:
            producer.produce(topic, each, partition=0)


def abort(servers: Sequence[str], topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": ",".join(servers), "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    for each in values:
        producer.produce(topic, each, partition=0)
    producer.flush()
    producer.abort_transaction()


def look(project: Project, *patterns: str, stack: str = "dev", options: AuditOptions | None = None) -> AuditReport:
    with auditing(project, stack, options=options) as audit:
        return audit(patterns)


def of_subjects(report: AuditReport) -> list[Finding]:
    """Return the findings of the checks of subjects that are no plain pass."""
    return [each for each in report.findings if each.check in CHECKS and each.verdict is not Verdict.PASS]


@pytest.fixture(scope="module")
def planted(project: Project, registered: Registry, servers: list[str]) -> Mapping[str, list[int]]:
    """Plant each fault in a topic of its own; return the ids of each topic's versions."""
    names = ("absent", "unregistered", "newer", "level", "unused", "right", "aborted", "deleted")
    topics = {name: f"planted.{name}" for name in names}
    create(servers, *topics.values())
    ids: dict[str, list[int]] = {}
    for name, registered_versions, declared, level in (
        ("absent", (), 1, None),
        ("unregistered", (1, 2), 3, None),
        ("newer", (1, 2, 3), 2, None),
        ("level", (1,), 1, BACKWARD),
        ("unused", (1, 2, 3), 3, None),
        ("right", (1, 2), 2, FULL),
        ("aborted", (1, 2), 1, None),
        ("deleted", (1, 2), 2, None),
    ):
        declare(project, topics[name], declared, level)
        ids[name] = registered.register(topics[name], *registered_versions)
    registered.set_level(topics["level"], NONE)
    registered.set_level(topics["right"], FULL)
    write(servers, topics["unregistered"], value(ids["unregistered"][1], 2))
    write(servers, topics["newer"], *(value(ids["newer"][n], n + 1) for n in (1, 0, 2, 2, 1, 2)), None)
    write(servers, topics["level"], value(ids["level"][0], 1))
    write(servers, topics["unused"], value(ids["unused"][2], 3), None)
    write(servers, topics["right"], value(ids["right"][0], 1), value(ids["right"][1], 2))
    write(servers, topics["aborted"], value(ids["aborted"][0], 1))
    abort(servers, topics["aborted"], value(ids["aborted"][1], 2))
    write(servers, topics["deleted"], value(ids["deleted"][0], 1), value(ids["deleted"][1], 2))
    registered.delete(topics["deleted"], 1)
    return ids


@pytest.fixture(scope="module")
def report(project: Project, planted: Mapping[str, list[int]]) -> AuditReport:
    return look(project, "planted.*")


def test_each_planted_fault_and_nothing_else_is_found(report: AuditReport) -> None:
    found = sorted((each.topic.removeprefix("planted."), each.check, each.verdict) for each in of_subjects(report))
    assert found == [
        ("aborted", "registered-schema", Verdict.FAIL),
        ("absent", "registered-schema", Verdict.FAIL),
        ("level", "registered-schema", Verdict.FAIL),
        ("newer", "registered-schema", Verdict.FAIL),
        ("newer", "schema-version", Verdict.FAIL),
        ("unregistered", "registered-schema", Verdict.FAIL),
        ("unregistered", "schema-version", Verdict.UNDECIDABLE),
        ("unused", "unused-schema-version", Verdict.FAIL),
    ]


def test_a_finding_names_versions_and_ids_and_the_line_that_differs(
    report: AuditReport, planted: Mapping[str, list[int]]
) -> None:
    newer = finding(report, "planted.newer", "registered-schema")
    ids = planted["newer"]
    assert f"is 3 (id {ids[2]}), but the declared schema is version 2 (id {ids[1]})" in newer.message
    records = finding(report, "planted.newer", "schema-version")
    assert (records.evidence["records"], records.evidence["offset"]) == (3, 2)
    assert f"version 3 (id {ids[2]})" in records.because[0]
    unused = finding(report, "planted.unused", "unused-schema-version")
    assert unused.message.endswith("in no record: 1, 2")
    lines = {
        (each.topic, each.check): each.location.line
        for each in (*of_subjects(report),)
        if each.location and each.topic != "planted.unregistered"
    }
    assert lines["planted.newer", "registered-schema"] == lines["planted.newer", "schema-version"] == 6
    assert lines["planted.absent", "registered-schema"] == 7
    assert lines["planted.level", "registered-schema"] == 8


def test_records_that_value_schema_reports_are_not_reported_again(report: AuditReport) -> None:
    values = finding(report, "planted.deleted", "value-schema")
    versions = finding(report, "planted.deleted", "schema-version")
    assert versions.verdict is Verdict.PASS
    assert (values.verdict, values.evidence["records"]) == (Verdict.FAIL, 1)


@pytest.mark.nightly("The suite keeps a registry that cannot be reached.", stays=("unreachable",))
@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize(
    "lost",
    [("http://127.0.0.1:1", "cannot be reached"), ("{url}/elsewhere", "no API")],
    ids=["unreachable", "no-registry"],
)
def test_an_unusable_registry_makes_only_its_checks_undecidable(
    project: Project, servers: list[str], registry_url: str, lost: tuple[str, str]
) -> None:
    address, reason = lost
    settings = stack_settings(servers, address.format(url=registry_url), username="u", password="never-shown")
    (project.stacks / "Pulumi.lost.yaml").write_text(settings, encoding="utf-8")
    report = look(project, "planted.right", stack="lost")
    found = of_subjects(report)
    assert [(each.check, each.verdict) for each in found] == [(check, Verdict.UNDECIDABLE) for check in CHECKS]
    assert all(reason in each.because[0] for each in found)
    assert finding(report, "planted.right", "partition-count").verdict is Verdict.PASS
    assert "never-shown" not in report.model_dump_json()


class Log:
    """A topic with the versions that its records name, by offset; None for tombstones and transaction markers."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.start = 0
        self.versions: list[int | None] = []
        self.ids: list[int] = []
        self.level: Compatibility | None = None

    @property
    def unused(self) -> list[int]:
        """Return the versions before the declared one that no record in the log names."""
        present = set(self.versions[self.start :])
        return [number for number in range(1, len(self.ids)) if number not in present]


def deploy(project: Project, registered: Registry, log: Log, level: Compatibility | None) -> None:
    """Declare and register the next version, and set the level, as a deploy does."""
    log.level = level or log.level
    declare(project, log.topic, len(log.ids) + 1, log.level)
    if log.level:
        registered.set_level(log.topic, log.level)
    log.ids += registered.register(log.topic, len(log.ids) + 1)


def produce(servers: Sequence[str], log: Log, rng: random.Random) -> None:
    """Write records with some of the versions so far, and tombstones; sometimes more than a block of offsets."""
    used = rng.sample(range(1, len(log.ids) + 1), rng.randint(1, len(log.ids)))
    versions = [rng.choice([*used, *used, None]) for _ in range(rng.choice((1, 40, 9_000)))]
    write(servers, log.topic, *(None if each is None else value(log.ids[each - 1], each) for each in versions))
    log.versions += versions


def give_up(servers: Sequence[str], log: Log, rng: random.Random) -> None:
    """Abort a transaction: its records count as use, and its marker takes an offset."""
    version = rng.randint(1, len(log.ids))
    abort(servers, log.topic, value(log.ids[version - 1], version))
    log.versions += [version, None]


def expire(servers: Sequence[str], log: Log, rng: random.Random) -> None:
    """Delete the oldest records."""
    log.start = rng.randint(log.start, len(log.versions))
    with connected(servers) as admin:
        admin.delete_records({TopicPartition(log.topic, 0): log.start})


@pytest.mark.parametrize("seed", range(SEED, SEED + HISTORIES))
def test_a_legitimate_history_never_fails_and_unused_versions_are_exact(
    project: Project, registered: Registry, servers: list[str], tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    logs = [Log(f"legitimate.{seed}.{number}") for number in range(4)]
    create(servers, *(log.topic for log in logs))
    for log in logs:
        deploy(project, registered, log, rng.choice((None, BACKWARD, FULL)))
    remembered = 0
    changes: list[Callable[[Log], None]] = [
        lambda log: produce(servers, log, rng),
        lambda log: produce(servers, log, rng),
        lambda log: give_up(servers, log, rng),
        lambda log: expire(servers, log, rng),
        lambda log: deploy(project, registered, log, rng.choice((None, BACKWARD, FULL))) if len(log.ids) < 6 else None,
    ]
    patterns, history = (f"legitimate.{seed}.*",), str(tmp_path / "history")
    look(project, *patterns, options=AuditOptions(history, ReadScope.LAST))  # some checks need an earlier audit
    for number in range(ROUNDS):
        for log in logs:
            for change in rng.sample(changes if number % 3 == 0 else changes[:-1], 3):  # a deploy changes the rules
                change(log)
        new = look(project, *patterns, options=AuditOptions(history, ReadScope.LAST))
        every = look(project, *patterns, options=AuditOptions(history))
        remembered += new.remembered_records
        assert comparable(new) == comparable(every)
        for log in logs:
            for check in ("registered-schema", "schema-version", "value-schema"):
                assert finding(new, log.topic, check).verdict is Verdict.PASS, (log.topic, check)
            unused = finding(new, log.topic, "unused-schema-version")
            listed = unused.message.rpartition(": ")[2]
            assert [int(each) for each in listed.split(", ") if each] == log.unused, log.topic
    assert remembered > 0, "no audit used the counts of an earlier one"


def test_a_subject_that_is_deleted_between_audits_is_judged_as_in_a_full_audit(
    project: Project, registered: Registry, servers: list[str], tmp_path: Path
) -> None:
    topic = "deleted-between"
    declare(project, topic, 1)
    create(servers, topic)
    (id,) = registered.register(topic, 1)
    write(servers, topic, value(id, 1), value(id, 1))
    since_last = AuditOptions(str(tmp_path / "history"), ReadScope.LAST)
    assert finding(look(project, topic, options=since_last), topic, "value-schema").verdict is Verdict.PASS
    registered.delete(topic, 1)
    found = [finding(look(project, topic, options=each), topic, "value-schema") for each in (since_last, None)]
    assert [each.verdict for each in found] == [Verdict.FAIL] * 2
    assert found[0].because == found[1].because
