"""Test that commands that only read create no topic, on a broker with Kafka's own defaults, while topics go."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from kafka.admin import NewTopic

from tests.support.projects import Shell, empty_stack, own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.kafka.connect.clients import connected
from topicwarden.toolchain import Toolchain

DECLARED = "{owner: team, partitions: 1, replication_factor: 1, contents: {key: {required: true}}}\n"
KEPT = "going.kept"
AT_ONCE = 12
COMMANDS = (
    ("audit", "--stack", "dev", "--history", "history"),
    ("audit", "--stack", "dev", "--history", "history", "--since", "last"),
    ("usage", "--stack", "dev"),
    ("plan", "--stack", "dev"),
    ("doctor", "--stack", "dev"),
    ("import", "--stack", "dev", "--dry-run"),
)


@pytest.fixture(scope="module")
def shell(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, list[str]]]:
    folder = tmp_path_factory.mktemp("reading")
    with own_cache(folder):
        project = project_of(folder / "project", {f"{KEPT}.yaml": DECLARED})
        sandbox = sandbox_of(project)
        with running(sandbox, brokers=1, overrides={"auto.create.topics.enable": "true"}):
            create(sandbox.bootstrap_servers, [KEPT])
            yield empty_stack(project, folder / "state"), sandbox.bootstrap_servers


def create(servers: list[str], topics: list[str]) -> None:
    with connected(servers) as admin:
        admin.create_topics([NewTopic(topic, 1, 1) for topic in topics])
    producer = Producer({"bootstrap.servers": ",".join(servers)})
    for topic in topics:
        producer.produce(topic, b"value", b"key", partition=0)
    assert producer.flush(30) == 0


@contextmanager
def topics_that_go(servers: list[str], name: str) -> Iterator[set[str]]:
    """Create topics, and delete one after the other, until the end of the block; yield the names of deleted ones."""
    gone, ended = set[str](), threading.Event()
    first = [f"{name}.0.{number}" for number in range(AT_ONCE)]
    create(servers, first)

    def delete() -> None:
        topics, created = list(first), 0
        with connected(servers) as admin:
            while not ended.is_set():
                if not topics:
                    created += 1
                    topics = [f"{name}.{created}.{number}" for number in range(AT_ONCE)]
                    create(servers, topics)
                topic = topics.pop()
                admin.delete_topics([topic])
                gone.add(topic)
                ended.wait(0.25)

    thread = threading.Thread(target=delete)
    thread.start()
    try:
        yield gone
    finally:
        ended.set()
        thread.join()


@pytest.mark.nightly(
    "The full audit stays, which reads records, and a plan, which reads metadata as the other commands do.",
    stays=("audit --stack dev --history history", "plan --stack dev"),
)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.usefixtures("spark")
def test_a_command_that_reads_creates_no_topic_that_is_deleted_meanwhile(
    command: tuple[str, ...], shell: tuple[Shell, list[str]]
) -> None:
    project, servers = shell
    with topics_that_go(servers, f"going.{uuid4().hex}") as gone:
        while len(gone) <= 3:  # most commands take less time than that
            done = project.in_process(*command)
            assert done.returncode in (0, 1, 3), done.stdout + done.stderr
    with connected(servers) as admin:
        left = {*admin.list_topics()}
    assert KEPT in left
    assert not gone & left
