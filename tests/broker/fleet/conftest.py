"""Fixtures: two clusters, and a project with a stack on each, and with stacks that are broken in many ways."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic

from tests.support.projects import Shell, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.project import Project
from topicwarden.toolchain import Toolchain, environment

PASSPHRASE = "of-the-test"
TOPICS = {
    "orders.v1.yaml": "partitions: 1\nreplication_factor: 1\ncontents: {value: {format: json}}\n"
    "stacks: {west: {partitions: 2}}\n",
    "payments.v1.yaml": "partitions: 1\nreplication_factor: 1\n",
}


def settings_of(server: str) -> str:
    return f"config: {{'kafka:bootstrapServers': [{server}], 'kafka:tlsEnabled': false}}\n"


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_cache(tmp_path_factory.mktemp("fleet"), warm=True) as folder:
        yield folder


@pytest.fixture(scope="package")
def clusters(folder: Path, tools: Toolchain) -> Iterator[dict[str, str]]:
    """The address of a broker for each of two stacks; only the one of ``east`` has a record that is no JSON."""
    east, west = (Sandbox(folder / name, tools.java, tools.kafka_jars) for name in ("east", "west"))
    with running(east, brokers=1), running(west, brokers=1):
        servers = {"east": east.bootstrap_servers[0], "west": west.bootstrap_servers[0]}
        for stack, partitions, value in (("east", 1, b"no JSON"), ("west", 2, b"{}")):
            with connected([servers[stack]]) as admin:
                admin.create_topics([NewTopic("orders.v1", partitions, 1), NewTopic("payments.v1", 1, 1)])
            producer = Producer({"bootstrap.servers": servers[stack]})
            producer.produce("orders.v1", value)
            assert producer.flush(30) == 0
        yield servers


@pytest.fixture(scope="package")
def project(folder: Path, clusters: dict[str, str]) -> Iterator[Project]:
    project = project_of(folder / "project", TOPICS)
    (project.stacks / "Pulumi.dev.yaml").unlink()
    with socket.create_server(("127.0.0.1", 0)) as frozen, socket.create_server(("127.0.0.1", 0)) as free:
        dead = f"127.0.0.1:{free.getsockname()[1]}"
        free.close()
        stack_files = {
            "broken": "config: {kafka:bootstrapServers: [",
            "dead": settings_of(dead),
            "east": settings_of(clusters["east"]),
            "frozen": settings_of(f"127.0.0.1:{frozen.getsockname()[1]}"),
            "locked": "encryptionsalt: v1:AAAAAAAAAAA=:v1:AAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\n"
            "config:\n  kafka:bootstrapServers: [127.0.0.1:1]\n  kafka:saslPassword: {secure: v1:AAAA:AAAA}\n",
            "west": settings_of(clusters["west"]),
        }
        for stack, text in stack_files.items():
            (project.stacks / f"Pulumi.{stack}.yaml").write_text(text, encoding="utf-8")
        yield project


@pytest.fixture(scope="package")
def shell(project: Project, folder: Path) -> Shell:
    """A shell with a state for the stacks with valid settings, and without the passphrase of ``locked``."""
    (folder / "state").mkdir()
    variables = {
        **environment(project),
        "PULUMI_BACKEND_URL": (folder / "state").as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": PASSPHRASE,
    }
    shell = Shell(project.root, variables)
    done = shell.run("pulumi", "stack", "init", "east", "--non-interactive")
    assert done.returncode == 0, done.stderr
    (file,) = (folder / "state").glob(".pulumi/stacks/*/east.json")
    for stack in ("dead", "frozen", "west"):
        text = file.read_text(encoding="utf-8").replace("/east", f"/{stack}")
        file.with_name(f"{stack}.json").write_text(text, encoding="utf-8")
    return shell
