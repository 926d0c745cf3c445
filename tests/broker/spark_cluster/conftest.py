"""A project on a broker, with records that are not as declared, for audits on each platform of Spark."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.admin import NewTopic
from pyspark.sql import SparkSession

from tests.conftest import REPOSITORY
from tests.support.projects import Shell, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain

FILES = {
    "s.state.yaml": """\
partitions: 4
replication_factor: 1
config: {cleanup.policy: compact}
contents:
  key: {required: true, format: string, partitioner: murmur2}
""",
    "s.events.yaml": """\
partitions: 2
replication_factor: 1
config: {retention.ms: 7d}
contents:
  value: {format: json, schema: schemas/event.json}
""",
}
SCHEMA = {"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}}


ENTRY_POINT = REPOSITORY / "validation" / "topicwarden" / "audit" / "__main__.py"
RECORDS, FAULTY = 20_000, 7
"""The records of each topic, and how many of them have a value of the wrong type."""
TIMES_OF_RUN = ("started", "finished", "scan_seconds")


@pytest.fixture(scope="package")
def project(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    folder = tmp_path_factory.mktemp("spark-cluster")
    sandbox = Sandbox(folder / "brokers", tools.java, tools.kafka_jars)
    with own_cache(folder), running(sandbox, brokers=1):
        servers = sandbox.bootstrap_servers
        settings = f"config:\n  kafka:bootstrapServers: {json.dumps(servers)}\n  kafka:tlsEnabled: false\n"
        created = project_of(folder / "project", FILES, settings)
        (created.topics / "schemas").mkdir()
        (created.topics / "schemas" / "event.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
        with connected(servers) as admin:
            admin.create_topics(
                [
                    NewTopic("s.state", 4, 1, topic_configs={"cleanup.policy": "compact"}),
                    NewTopic("s.events", 2, 1, topic_configs={"retention.ms": "604800000"}),
                ]
            )
        with writing(servers) as writer:
            for number in range(RECORDS):
                writer.send("s.state", f"key-{number % (RECORDS // 3)}", f"value {number}")
                value = {"number": "seven" if number < FAULTY else number}
                writer.send("s.events", f"key-{number}", json.dumps(value))
        yield created


def audit(project: Project, *options: str) -> subprocess.CompletedProcess[str]:
    return Shell(project.root).topicwarden("audit", "--stack", "dev", "--format", "json", *options)


@pytest.fixture(scope="package")
def local_report(project: Project, spark: SparkSession) -> dict[str, Any]:
    """The report of an audit on one machine, with the session of this process."""
    local = Shell(project.root).in_process("audit", "--stack", "dev", "--format", "json", "--history", "none")
    return report(local.returncode, local.stdout, local.stderr)


def report(code: int, output: str, errors: str) -> dict[str, Any]:
    """Return the report of an audit without the times. It must have found the values of the wrong type."""
    assert code == 1, errors
    return as_expected(json.loads(output))


def as_expected(values: dict[str, Any]) -> dict[str, Any]:
    """Return a report without the times. It must have found the values of the wrong type."""
    assert [f["topic"] for f in values["findings"] if f["verdict"] == "fail"] == ["s.events"]
    used = {topic["name"]: topic["replica_bytes"] for topic in values["usage"]["topics"]}
    return {name: value for name, value in values.items() if name not in TIMES_OF_RUN} | {"usage": used}
