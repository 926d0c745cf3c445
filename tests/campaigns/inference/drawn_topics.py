"""Topics with hidden contracts on a real cluster: create them, write their records, and infer and audit them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka import Producer
from kafka.admin import NewTopic

from tests.campaigns.inference.hidden_contract import MARK
from tests.campaigns.inference.hidden_topic import ONE, PARTITIONERS, PLAIN, HiddenTopic, drawn_topic
from tests.support.command import topicwarden
from tests.support.projects import project_of
from tests.support.registry import register_schema
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.kafka.connect.clients import connected
from topicwarden.model.finding import Finding
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import auditing
from topicwarden.toolchain import Toolchain

RECORDS, LATER, NEEDED = 900, 300, 100
_SINGLE: Final = {
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.replication.factor": "1",
}
_AT_ONCE: Final = 100
"""The topics that are created by one request, and whose producers are flushed at once."""
_SAMPLE: Final = 40


@dataclass(frozen=True)
class DrawnTopics:
    """The topics ``inferred.<n>``, by name, on the brokers ``servers``; ``registry`` is the URL of theirs, or empty.

    ``samples`` has some of the JSON values that were written, by topic.
    """

    servers: Sequence[str]
    registry: str
    topics: Mapping[str, HiddenTopic]
    source: random.Random
    samples: dict[str, list[bytes]] = field(default_factory=dict)

    @staticmethod
    def create(servers: Sequence[str], registry: str, seed: int, count: int) -> DrawnTopics:
        source = random.Random(seed)
        register = partial(register_schema, registry) if registry else None
        topics = {name: drawn_topic(source, name, register) for name in (f"inferred.{n}" for n in range(count))}
        new = [NewTopic(each.name, each.partitions, 1, topic_configs=each.configuration) for each in topics.values()]
        with connected(servers) as admin:
            for begin in range(0, count, _AT_ONCE):
                admin.create_topics(new[begin : begin + _AT_ONCE])
        return DrawnTopics(servers, registry, topics, source)

    def write(self, records: int) -> None:
        """Write committed records to each topic, and records of another form that are aborted."""
        servers = {"bootstrap.servers": ",".join(self.servers)}
        self._write_aborted(servers)
        writers = {
            (name, number): Producer({**servers, "partitioner": option, "enable.idempotence": number < _MANY})
            for name, option in PARTITIONERS.items()
            for number in range(_MANY + 1)
        }
        for position, topic in enumerate(self.topics.values()):
            self._write(topic, records, {number: writers[topic.partitioner, number] for number in range(_MANY + 1)})
            if position % _AT_ONCE == 0:
                for writer in writers.values():
                    writer.flush()
        for writer in writers.values():
            writer.flush()

    def _write(self, topic: HiddenTopic, records: int, writers: Mapping[int, Producer]) -> None:
        chosen = {ONE: [0], PLAIN: [_MANY]}.get(topic.producers, [*range(_MANY)])
        sample = self.samples.setdefault(topic.name, [])
        for number in range(records):
            record = topic.draw(self.source)
            writer = writers[chosen[number % len(chosen)]]
            writer.produce(topic.name, record.value, record.key, headers=record.headers, timestamp=record.timestamp)
            writer.poll(0)
            if record.value is not None and number % (records // _SAMPLE) == 0:
                sample.append(record.value)

    def _write_aborted(self, servers: Mapping[str, str]) -> None:
        """Write a record that breaks every rule to some topics, and abort it."""
        aborting = Producer({**servers, "transactional.id": "inferred-aborting"})
        aborting.init_transactions()
        aborting.begin_transaction()
        for topic in self.topics.values():
            if topic.producers not in (ONE, PLAIN):  # the brokers would count it as a producer
                for partition in range(topic.partitions):
                    aborting.produce(topic.name, b"\xff" + MARK.encode(), None, partition=partition)
        aborting.flush()
        aborting.abort_transaction()

    def project(self, folder: Path) -> Project:
        """Return a new project without topics."""
        settings = [f"'kafka:bootstrapServers': [{', '.join(self.servers)}]", "'kafka:tlsEnabled': false"]
        settings += [f"'topicwarden:schemaRegistry': {self.registry}"] if self.registry else []
        return project_of(folder, {}, f"config: {{{', '.join(settings)}}}\n")


_MANY: Final = 2
"""The number of idempotent producers of a topic with several."""


@contextmanager
def cluster(tools: Toolchain, folder: Path) -> Iterator[Sequence[str]]:
    """Run one broker during the block; yield its addresses."""
    sandbox = Sandbox(folder / "sandbox", tools.java, tools.kafka_jars)
    with running(sandbox, brokers=1, overrides=_SINGLE):
        yield sandbox.bootstrap_servers


def import_contents(project: Project, *options: str) -> str:
    """Write the inferred contracts into ``project``, and return all output with the text of all files."""
    command = ("import", "--stack", "dev", "--files-only", "--contents", "--min-records", str(NEEDED), *options)
    done = topicwarden(*command, "inferred.*", cwd=project.root)
    assert done.code == 0, done.out[-2000:] + done.err[-2000:]
    return done.out + done.err + _texts(project.topics)


def infer_again(project: Project, out: Path, *options: str) -> str:
    """Return all output of `topicwarden infer` for the declared topics, with the text of its files."""
    command = ("infer", "--min-records", str(NEEDED), "--out", str(out), *options)
    done = topicwarden(*command, "inferred.*", cwd=project.root)
    assert done.code in (0, 1), done.err[-2000:]
    return done.out + done.err + _texts(out)


def _texts(folder: Path) -> str:
    return "".join(path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file())


def unmet(project: Project) -> list[Finding]:
    """Return what an audit of the topics finds broken, or cannot decide, apart from the topics' own settings."""
    with auditing(project, "dev") as look:
        report = look(("inferred.*",))
    return [each for each in report.findings if each.verdict in (Verdict.FAIL, Verdict.UNDECIDABLE)]
