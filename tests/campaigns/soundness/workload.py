"""Write histories to a broker, and record what really happened. No file on the broker contains this truth."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, Producer
from kafka import KafkaAdminClient, TopicPartition
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ConfigResource,
    ConfigResourceType,
    NewPartitions,
    NewTopic,
    ResourcePattern,
    ResourceType,
)
from kafka.errors import KafkaError, TopicAlreadyExistsError
from kafka.protocol.consumer import OffsetSpec

from tests.campaigns.soundness.broker import TRANSACTION_MS
from tests.campaigns.soundness.scenario import (
    Action,
    Configure,
    Deny,
    Drop,
    Grow,
    History,
    Record,
    Recreate,
    Step,
    Transact,
    Trim,
    Write,
)
from tests.support.restricted_user import grant
from topicwarden.model.topic import Topic

_TIMEOUT_S = 20


@dataclass
class Truth:
    """The true state of a topic. ``config`` is the configuration that was last set.

    ``changed`` is true if any setting was ever changed. ``earlier`` is the configuration of deleted topics with this
    name.
    """

    history: History
    there: bool = True
    partitions: int = 0
    config: dict[str, str] = field(default_factory=dict)
    changed: bool = False
    earlier: dict[str, str] = field(default_factory=dict)
    created: int = 1
    """The number of creations."""
    denied: bool = False
    """True if a permission was revoked."""

    @property
    def name(self) -> str:
        return self.history.topic.name


@dataclass(frozen=True)
class _Promise:
    """A transaction that must end at the time ``at``."""

    at: float
    producer: Producer
    ends: str


class Workload:
    """Write histories to one broker; see ``running_workload``."""

    def __init__(self, servers: list[str]) -> None:
        self._servers, self._admin = (
            ",".join(servers),
            KafkaAdminClient(bootstrap_servers=servers, bootstrap_timeout_ms=60_000),
        )
        self._producer = Producer(
            {"bootstrap.servers": self._servers, "linger.ms": 1, "log_level": 0, "message.timeout.ms": 20_000}
        )
        self._idle: list[Producer] = []
        self._gone: list[Producer] = []
        self._promises: list[_Promise] = []
        self._number = 0
        self.truths: dict[str, Truth] = {}

    def reconnect(self) -> None:
        """Connect a new client after a broker restart, and record configurations that returned.

        A starting broker does not remove the configuration of a deleted topic. The broker applies that configuration to
        a later topic of the same name (``ConfigurationsDelta.replay(RemoveTopicRecord)``).
        """
        self._admin.close()
        self._admin = KafkaAdminClient(bootstrap_servers=self._servers, bootstrap_timeout_ms=60_000)
        for truth in [one for one in self.truths.values() if one.there and one.earlier]:
            settings_before = self._set_on(truth.name)
            both = truth.earlier.items() & settings_before.items()
            returned = {name: value for name, value in both if name not in truth.config}
            truth.config |= returned
            truth.changed |= bool(returned)

    def close(self) -> None:
        self._admin.close()

    def begin(self, histories: Iterable[History]) -> None:
        """Create the topics of the histories."""
        settings_before = list(histories)
        self._create([one.topic for one in settings_before])
        for one in settings_before:
            config = dict(one.topic.config)
            self.truths[one.topic.name] = Truth(one, partitions=one.topic.partitions, config=config)

    def run(self, phase: int, seconds: float) -> None:
        """Run every action of an interval between audits, which takes ``seconds``."""
        steps: list[tuple[Step, Truth]] = [
            (step, truth) for truth in self.truths.values() for step in truth.history.steps if step.phase == phase
        ]
        begun = time.monotonic()
        for step, truth in sorted(steps, key=lambda reported: reported[0].at):
            self._wait(begun + step.at * seconds)
            if truth.there:
                self._do(step.action, truth)
        self._wait(begun + seconds)
        self._keep(time.monotonic() + 60)
        self._producer.flush(30)

    def do(self, topic: str, action: Action) -> None:
        """Run one action at once."""
        self._do(action, self.truths[topic])

    def end(self) -> None:
        """Delete the topics' ACLs, then the topics."""
        denied = [name for name, truth in self.truths.items() if truth.denied]
        self._admin.delete_acls(
            [
                ACLFilter(
                    None, None, ACLOperation.ANY, ACLPermissionType.ANY, ResourcePattern(ResourceType.TOPIC, name)
                )
                for name in denied
            ]
        )
        names = [name for name, truth in self.truths.items() if truth.there]
        if names:
            self._admin.delete_topics(names)
        self.truths = {}

    def write(self, topic: str, records: Iterable[Record], producer: Producer | None = None) -> None:
        """Send records in one or a few batches for each partition, and wait until they are acknowledged."""
        sender, now = producer or self._producer, int(time.time() * 1000)
        for record in records:
            stamp = now + record.ahead if record.stamp is None else record.stamp
            headers: Any = [(name, b"1") for name in record.headers]
            sender.produce(
                topic, record.value, record.key, partition=record.partition, timestamp=stamp, headers=headers
            )
        sender.flush(20)

    def hang(self, records: Mapping[str, Iterable[Record]]) -> dict[str, float]:
        """Begin a transaction for each topic, whose producer disappears; return the start time of each.

        The producers connect first: the coordinator would abort the first transaction before the last one begins.
        """
        begun = {}
        for producer, (topic, settings_before) in zip(
            [self._transactional() for _ in records], records.items(), strict=True
        ):
            begun[topic] = time.time()
            producer.begin_transaction()
            self.write(topic, settings_before, producer)
            self._gone.append(producer)
        return begun

    def lose_transactions(self) -> None:
        """Delete the topic in which the coordinator remembers transactions, so that it ends none of them."""
        self._admin.delete_topics(["__transaction_state"])

    def abort(self, records: Mapping[str, Iterable[Record]]) -> None:
        """Write one aborted transaction to several topics."""
        producer = self._transactional()
        producer.begin_transaction()
        for topic, settings_before in records.items():
            self.write(topic, settings_before, producer)
        producer.abort_transaction(20)

    def configure(self, topic: str, settings: Mapping[str, str]) -> None:
        self._admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(settings))])

    def _set_on(self, topic: str) -> dict[str, str]:
        """Return the topic's own configuration, as the broker applies it."""
        reported = self._admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])["topic"][topic]
        return {name: one["value"] for name, one in reported.items() if one["config_source"] == "DYNAMIC_TOPIC_CONFIG"}

    def recreate(self, truth: Truth) -> None:
        topic = truth.history.topic
        truth.earlier |= truth.config
        self._admin.delete_topics([topic.name])
        self._create([topic])
        truth.partitions, truth.config, truth.created = topic.partitions, dict(topic.config), truth.created + 1

    def grow(self, truth: Truth, by: int) -> None:
        truth.partitions += by
        self._admin.create_partitions({truth.name: NewPartitions(truth.partitions)})

    def _do(self, action: Action, truth: Truth) -> None:
        match action:
            case Write(records, times):
                self.write(truth.name, self._valid(records, truth) * times)
            case Transact():
                self._transact(action, truth)
            case Configure(settings):
                with _refusals():
                    self.configure(truth.name, dict(settings))
                    truth.config |= dict(settings)
                    truth.changed = True
            case Grow(by):
                self.grow(truth, by)
            case Trim(partition, share):
                topic_partition = TopicPartition(truth.name, partition)
                with _refusals():
                    end = self._admin.list_partition_offsets({topic_partition: OffsetSpec.LATEST})[
                        topic_partition
                    ].offset
                    self._admin.delete_records({topic_partition: int(end * share)})
            case Recreate():
                self.recreate(truth)
            case Drop():
                self._admin.delete_topics([truth.name])
                truth.there = False
            case Deny(kept):
                grant(self._admin, ResourceType.TOPIC, truth.name, kept)
                truth.denied = True

    def _valid(self, records: Iterable[Record], truth: Truth) -> list[Record]:
        """Return the records that the broker accepts. A compacted topic refuses the whole batch of a keyless record."""
        compacted = Topic("", 1, 1, truth.config).compacted
        return [record for record in records if record.key is not None or not compacted]

    def _transact(self, action: Transact, truth: Truth) -> None:
        producer = None
        try:
            producer = self._idle.pop() if self._idle else self._transactional()
            producer.begin_transaction()
            self.write(truth.name, self._valid(action.records, truth), producer)
        except KafkaException:  # the coordinator is not available yet
            self._gone += [producer] if producer else []
            return
        if action.ends == "leave":
            self._gone.append(producer)
        else:
            self._promises.append(_Promise(time.monotonic() + action.holds, producer, action.ends))
            self._keep(time.monotonic())

    def _keep(self, until: float) -> None:
        """End the transactions that are due before ``until``."""
        for promise in [one for one in self._promises if one.at <= until]:
            self._promises.remove(promise)
            time.sleep(max(0.0, promise.at - time.monotonic()))
            try:
                getattr(promise.producer, f"{promise.ends}_transaction")(10)
                self._idle.append(promise.producer)
            except KafkaException:  # timed out or lost the broker: the coordinator has aborted it
                self._gone.append(promise.producer)

    def _wait(self, until: float) -> None:
        self._keep(until)
        time.sleep(max(0.0, until - time.monotonic()))

    def _transactional(self) -> Producer:
        self._number += 1
        producer = Producer(
            {
                "bootstrap.servers": self._servers,
                "transactional.id": f"soundness-{time.time_ns()}-{self._number}",
                "transaction.timeout.ms": TRANSACTION_MS,
                "message.timeout.ms": TRANSACTION_MS,
                "linger.ms": 0,
                "log_level": 0,
            }
        )
        producer.init_transactions(5)
        return producer

    def _create(self, topics: list[Topic]) -> None:
        expected = [NewTopic(one.name, one.partitions, 1, topic_configs=dict(one.config)) for one in topics]
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                self._admin.create_topics(expected)
                break
            except TopicAlreadyExistsError:  # the topic is still being deleted
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        time.sleep(0.3)


@contextmanager
def running_workload(servers: list[str]) -> Iterator[Workload]:
    workload = Workload(servers)
    try:
        yield workload
    finally:
        workload.close()


@contextmanager
def _refusals() -> Iterator[None]:
    """Ignore requests that the broker refuses, such as contradictory bounds. Refused requests have no effect."""
    with suppress(KafkaError):
        yield
