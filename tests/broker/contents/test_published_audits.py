"""Test that audits of a real cluster reach the catalogues of the stack, for which the servers are stand-ins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.clients import until
from tests.support.http_answers import answering, openlineage_errors, openlineage_stand_in
from tests.support.projects import own_cache, project_of
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import audit_topics
from topicwarden.operations.operation_options import AuditOptions, ProgressListener

GOOD, BAD = "published.healthy", "published.broken"
KEY, VALUE = b"a-key-of-a-customer", b"a-value-of-a-customer"
HEALTHY = "partitions: 1\nreplication_factor: 1\nowner: team-orders\n"
BROKEN = "partitions: 1\nreplication_factor: 1\nconfig: {retention.ms: 1h}\n"


@pytest.fixture
def project(servers: list[str], tmp_path: Path) -> Iterator[Project]:
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in (GOOD, BAD)])
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    producer.produce(GOOD, VALUE, KEY)
    assert producer.flush(30) == 0
    with own_cache(tmp_path):
        yield project_of(tmp_path / "project", {f"{GOOD}.yaml": HEALTHY, f"{BAD}.yaml": BROKEN})
    with connected(servers) as admin:
        admin.delete_topics([GOOD, BAD])
        until(lambda: not {GOOD, BAD} & {*admin.list_topics()}, "the topics are gone")


class Warnings(ProgressListener):
    """Keep the warnings of an operation."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warn(self, line: str) -> None:
        self.lines.append(line)


def declare(project: Project, servers: list[str], openlineage: str) -> None:
    catalogues = {
        "lineage": {"openlineage": openlineage, "token": "lineage-secret"},
        "file": {"openlineage": "lineage/events.ndjson"},
    }
    cluster = {"kafka:bootstrapServers": servers, "kafka:tlsEnabled": False}
    settings = {**cluster, "topicwarden:catalogues": catalogues}
    (project.stacks / "Pulumi.dev.yaml").write_text(json.dumps({"config": settings}), encoding="utf-8")


def texts(folder: Path) -> str:
    return "".join(file.read_bytes().decode(errors="replace") for file in folder.rglob("*") if file.is_file())


def test_catalogues_get_audits_and_a_failure_stops_none(
    project: Project, servers: list[str], spark: SparkSession
) -> None:
    assert spark
    with answering(b"") as gone:
        closed = gone.url
    declare(project, servers, closed)
    missed, listener = AuditOptions(history="none"), Warnings()
    first = audit_topics(project, "dev", (GOOD, BAD), missed, listener=listener)
    assert listener.lines == [
        f"catalogue lineage: the OpenLineage server at {closed} refused the connection (topicwarden:catalogues.lineage)"
    ]

    with openlineage_stand_in() as lineage:
        declare(project, servers, lineage.server.url)
        listener = Warnings()
        second = audit_topics(project, "dev", (GOOD, BAD), missed, listener=listener)
    assert (listener.lines, lineage.errors) == ([], [])

    assert [event["eventType"] for event in lineage.events] == ["START", "COMPLETE"]
    file = project.root / "lineage" / "events.ndjson"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 4 and lines[2:] == lineage.events
    assert [openlineage_errors(event) for event in lineage.events] == [[]] * 2
    start = int(lineage.events[0]["run"]["runId"].replace("-", "")[:12], 16)
    assert (start, second.started > first.started) == (second.started, True)
    host = min(servers).lower()
    datasets = {(each["namespace"], each["name"]): each for each in lineage.events[1]["inputs"]}
    assert datasets.keys() == {(f"kafka://{host}", name) for name in (GOOD, BAD)}
    facet = datasets[f"kafka://{host}", BAD]["inputFacets"]["dataQualityAssertions"]
    failed = {each.check for each in second.of_topic(BAD) if each.verdict is Verdict.FAIL}
    assert failed and {each["assertion"] for each in facet["assertions"] if not each["success"]} == failed

    sent = "".join(str(each.body) for each in lineage.server.requests)
    everything = sent + texts(project.root / "lineage")
    assert all(secret not in everything for secret in (KEY.decode(), VALUE.decode(), "lineage-secret"))
