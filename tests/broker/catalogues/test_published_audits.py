"""Test that audits of a real cluster reach the catalogues of the stack, for which the servers are stand-ins."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.support.catalogue_servers import datahub_stand_in, openlineage_errors, openlineage_stand_in
from tests.support.http_answers import answering
from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import audit_topics
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.operations.progress_listener import ProgressListener
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.toolchain import Toolchain

KEY, VALUE = b"a-key-of-a-customer", b"a-value-of-a-customer"
HEALTHY = "partitions: 1\nreplication_factor: 1\nowner: team-orders\n"
BROKEN = "partitions: 1\nreplication_factor: 1\nconfig: {retention.ms: 1h}\n"


@pytest.fixture(scope="module")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    with own_cache(tmp_path_factory.mktemp("catalogues")) as folder:
        yield project_of(folder / "project", {"healthy.yaml": HEALTHY, "broken.yaml": BROKEN})


@pytest.fixture(scope="module")
def sandbox(project: Project) -> Iterator[Sandbox]:
    with running(sandbox_of(project), brokers=1) as sandbox:
        with KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("healthy", 1, 1), NewTopic("broken", 1, 1)])
        with KafkaProducer(bootstrap_servers=sandbox.bootstrap_servers) as producer:
            producer.send("healthy", VALUE, KEY)
        yield sandbox


class Warnings(ProgressListener):
    """Keep the warnings of an operation."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warn(self, line: str) -> None:
        self.lines.append(line)


def declare(project: Project, openlineage: str, datahub: str) -> None:
    catalogues = {
        "lineage": {"openlineage": openlineage, "token": "lineage-secret"},
        "file": {"openlineage": "lineage/events.ndjson"},
        "hub": {"datahub": datahub, "token": "hub-secret"},
    }
    settings = {"topicwarden:cluster": "sandbox", "topicwarden:catalogues": catalogues}
    (project.stacks / "Pulumi.dev.yaml").write_text(json.dumps({"config": settings}), encoding="utf-8")


def texts(folder: Path) -> str:
    return "".join(file.read_bytes().decode(errors="replace") for file in folder.rglob("*") if file.is_file())


def test_catalogues_get_audits_also_those_that_they_missed(
    project: Project, sandbox: Sandbox, spark: SparkSession
) -> None:
    assert spark
    with answering(b"") as gone:
        closed = gone.url
    declare(project, closed, closed)
    missed, listener = AuditOptions(history="none"), Warnings()
    first = audit_topics(project, "dev", ("healthy", "broken"), missed, listener=listener)
    assert [line.partition(";")[0] for line in listener.lines] == [
        f"catalogue {name}: {server} at {closed} refused the connection (topicwarden:catalogues.{name})"
        for name, server in (("lineage", "the OpenLineage server"), ("hub", "DataHub"))
    ]
    assert all("1 audit in its queue" in line for line in listener.lines)

    with openlineage_stand_in() as lineage, datahub_stand_in() as hub:
        declare(project, lineage.server.url, hub.server.url)
        listener = Warnings()
        second = audit_topics(project, "dev", ("healthy", "broken"), missed, listener=listener)
    assert (listener.lines, lineage.errors, hub.errors) == ([], [], [])

    assert [event["eventType"] for event in lineage.events] == ["START", "COMPLETE"] * 2
    file = project.root / "lineage" / "events.ndjson"
    assert [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] == lineage.events
    assert [openlineage_errors(event) for event in lineage.events] == [[]] * 4
    start = int(lineage.events[0]["run"]["runId"].replace("-", "")[:12], 16)
    assert (start, second.started > start) == (first.started, True)
    host = min(sandbox.bootstrap_servers).lower()
    datasets = {(each["namespace"], each["name"]): each for each in lineage.events[3]["inputs"]}
    assert datasets.keys() == {(f"kafka://{host}", name) for name in ("healthy", "broken")}
    facet = datasets[f"kafka://{host}", "broken"]["inputFacets"]["dataQualityAssertions"]
    failed = {each.check for each in second.of_topic("broken") if each.verdict is Verdict.FAIL}
    assert failed and {each["assertion"] for each in facet["assertions"] if not each["success"]} == failed

    verdicts = {
        (hub.definitions[urn]["entityUrn"].split(",")[1], results[-1]["type"]) for urn, results in hub.results.items()
    }
    assert {("broken", "FAILURE"), ("healthy", "SUCCESS")} <= verdicts and ("healthy", "FAILURE") not in verdicts

    sent = "".join(str(each.body) for each in (*lineage.server.requests, *hub.server.requests))
    everything = sent + texts(project.cache / "catalogues") + texts(project.root / "lineage")
    assert all(secret not in everything for secret in (KEY.decode(), VALUE.decode(), "lineage-secret", "hub-secret"))
