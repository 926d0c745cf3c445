"""Clients of every kind that Kafka has, as other programs would run them: none of them uses this package's code."""

from __future__ import annotations

import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    ShareConsumer,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
)

from tests.campaigns.usage.cluster import TRANSACTION_TIMEOUT_MS
from tests.support import maven_jars
from tests.support.java_programs import compiled

_SOURCE: Final = Path(__file__).with_name("StreamsHost.java")
_WAIT_S: Final = 60.0
_JVM: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m")


class Kind(StrEnum):
    """The kinds of clients. Brokers keep nothing of a plain producer and of a reader that commits nothing."""

    CLASSIC = "classic group"
    CONSUMER = "consumer group"
    SHARE = "share group"
    STREAMS = "streams group"
    MANUAL = "manual assignment"
    TRANSACTIONAL = "transactional producer"
    IDEMPOTENT = "idempotent producer"
    PLAIN = "plain producer"
    UNCOMMITTED = "reader without commits"

    @property
    def writes(self) -> bool:
        return self in (Kind.TRANSACTIONAL, Kind.IDEMPOTENT, Kind.PLAIN)

    @property
    def has_group(self) -> bool:
        return not self.writes and self is not Kind.UNCOMMITTED


class Client(ABC):
    """One running client of one topic. ``name`` is its group or its transactional id."""

    def __init__(self, kind: Kind, name: str, topic: str) -> None:
        self.kind, self.name, self.topic = kind, name, topic

    @abstractmethod
    def work(self) -> None:
        """Use the topic: read every record and commit, or write some. Return when the brokers know it."""

    @abstractmethod
    def close(self) -> None:
        """End as a program does that is stopped."""

    def abandon(self) -> None:
        """End as a program does that crashes: without leaving a group, in the middle of a transaction."""
        self.close()


class _GroupReader(Client):
    """A consumer with a subscription, of the classic protocol or of KIP-848."""

    def __init__(self, servers: str, kind: Kind, name: str, topic: str, *, static: bool = False) -> None:
        super().__init__(kind, name, topic)
        protocol = "consumer" if kind is Kind.CONSUMER else "classic"
        settings = {"group.protocol": protocol}
        if protocol == "classic":
            settings["session.timeout.ms"] = "10000"
        if static:  # a static member does not leave its group (KIP-345), as a member that crashes
            settings["group.instance.id"] = f"{name}-1"
        self._consumer = Consumer(_reader(servers, name) | settings)
        self._reading = _Reading(self._consumer, name)
        self._consumer.subscribe([topic])
        _until(self._assigned, f"{name} is assigned partitions")

    def work(self) -> None:
        self._reading.to_the_ends(commits=True)

    def close(self) -> None:
        self._consumer.close()

    def _assigned(self) -> bool:
        if not self._consumer.assignment():
            self._reading.poll()
        return bool(self._consumer.assignment())


class _ManualReader(Client):
    """A consumer that selects its partitions, and commits or does not."""

    def __init__(self, servers: str, kind: Kind, name: str, topic: str) -> None:
        super().__init__(kind, name, topic)
        self._commits = kind is Kind.MANUAL
        self._consumer = Consumer(_reader(servers, name if self._commits else f"none-{name}"))
        self._reading = _Reading(self._consumer, name)
        partitions = self._consumer.list_topics(topic, timeout=_WAIT_S).topics[topic].partitions
        self._consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])

    def work(self) -> None:
        self._reading.to_the_ends(commits=self._commits)

    def close(self) -> None:
        self._consumer.close()


class _ShareReader(Client):
    """A consumer of a share group."""

    def __init__(self, servers: str, name: str, topic: str) -> None:
        super().__init__(Kind.SHARE, name, topic)
        earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
        group = ConfigResource(ConfigResource.Type.GROUP, name, incremental_configs=[earliest])
        admin = AdminClient({"bootstrap.servers": servers})
        for done in admin.incremental_alter_configs([group]).values():
            done.result(_WAIT_S)
        self._consumer = ShareConsumer({"bootstrap.servers": servers, "group.id": name, "log_level": 0})
        self._consumer.subscribe([topic])
        self._consumer.poll(1)

    def work(self) -> None:
        deadline = time.monotonic() + _WAIT_S
        while not self._consumer.poll(1):
            assert time.monotonic() < deadline, f"{self.name} read nothing"
        while self._consumer.poll(2):
            pass
        self._consumer.commit_sync(_WAIT_S)

    def close(self) -> None:
        self._consumer.close()


class _Writer(Client):
    """A producer of any kind."""

    def __init__(self, servers: str, kind: Kind, name: str, topic: str) -> None:
        super().__init__(kind, name, topic)
        settings: dict[str, str | int | bool] = {"bootstrap.servers": servers, "log_level": 0, "linger.ms": 0}
        if kind is Kind.TRANSACTIONAL:
            settings |= {"transactional.id": name, "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS}
        else:
            settings["enable.idempotence"] = kind is Kind.IDEMPOTENT
        self._producer = Producer(settings)
        if kind is Kind.TRANSACTIONAL:
            self._producer.init_transactions(_WAIT_S)
        self._written = 0

    def work(self) -> None:
        if self.kind is Kind.TRANSACTIONAL:
            self._producer.begin_transaction()
        self._write()
        if self.kind is Kind.TRANSACTIONAL:
            self._producer.commit_transaction(_WAIT_S)

    def begin(self) -> None:
        """Write in a transaction that stays open."""
        self._producer.begin_transaction()
        self._write()

    def close(self) -> None:
        self._producer.flush(_WAIT_S)

    def _write(self) -> None:
        errors: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                errors.append(error)

        for _ in range(3):
            self._written += 1
            self._producer.produce(self.topic, f"{self.name}-{self._written}", on_delivery=delivered)
        assert self._producer.flush(_WAIT_S) == 0
        assert not errors, errors


class StreamsHost:
    """A process with Kafka Streams applications."""

    def __init__(self, java: Path, servers: str, folder: Path) -> None:
        jars = ":".join(f"{maven_jars.provide(name)}/*" for name in ("applications", "newest"))
        class_path = f"{compiled(java, _SOURCE, jars)}:{jars}"
        command = [str(java), *_JVM, "-cp", class_path, _SOURCE.stem, servers, str(folder / "streams")]
        self._lock = threading.Lock()
        self._log = (folder / "streams.log").open("wb")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True, encoding="utf-8"
        )

    def order(self, line: str) -> None:
        """Send a line, and wait until the process has done what it says."""
        assert self._process.stdin
        assert self._process.stdout
        with self._lock:
            self._process.stdin.write(f"{line}\n")
            self._process.stdin.flush()
            for answer in self._process.stdout:
                if answer.strip() == f"done {line}":
                    return
        raise AssertionError(f"the Streams process ended: see {self._log.name}")

    def close(self) -> None:
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class _StreamsReader(Client):
    """A Kafka Streams application of a streams group, which reads on its own, and commits every 0.2 s."""

    def __init__(self, host: StreamsHost, servers: str, name: str, topic: str) -> None:
        super().__init__(Kind.STREAMS, name, topic)
        self._host, self._servers = host, servers
        host.order(f"start {name} {topic}")

    def work(self) -> None:
        consumer = Consumer(_reader(self._servers, self.name))
        try:
            numbers = consumer.list_topics(self.topic, timeout=_WAIT_S).topics[self.topic].partitions
            partitions = [TopicPartition(self.topic, number) for number in numbers]
            ends = [consumer.get_watermark_offsets(each, timeout=_WAIT_S)[1] for each in partitions]

            def committed() -> bool:
                found = consumer.committed(partitions, timeout=_WAIT_S)
                return all(max(each.offset, 0) >= end for each, end in zip(found, ends, strict=True))

            _until(committed, f"{self.name} has committed every record")
        finally:
            consumer.close()

    def close(self) -> None:
        self._host.order(f"stop {self.name}")


class Clients:
    """Starts clients of a cluster. ``streams`` is needed for streams groups only."""

    def __init__(self, servers: str, streams: StreamsHost | None = None) -> None:
        self.servers, self._streams = servers, streams

    def start(self, kind: Kind, name: str, topic: str, *, static: bool = False) -> Client:
        """Start a client; ``static`` members of a group stay in it for a while after their end."""
        match kind:
            case Kind.CLASSIC | Kind.CONSUMER:
                return _GroupReader(self.servers, kind, name, topic, static=static)
            case Kind.MANUAL | Kind.UNCOMMITTED:
                return _ManualReader(self.servers, kind, name, topic)
            case Kind.SHARE:
                return _ShareReader(self.servers, name, topic)
            case Kind.STREAMS:
                assert self._streams, "streams groups need a process of Java"
                return _StreamsReader(self._streams, self.servers, name, topic)
        return _Writer(self.servers, kind, name, topic)


@contextmanager
def streams_host(java: Path, servers: str, folder: Path) -> Iterator[StreamsHost]:
    """Run a process for Kafka Streams applications during the block."""
    host = StreamsHost(java, servers, folder)
    try:
        yield host
    finally:
        host.close()


def open_transaction(client: Client) -> None:
    """Let a transactional producer write in a transaction that it does not end."""
    assert isinstance(client, _Writer)
    client.begin()


def _reader(servers: str, group: str) -> dict[str, str | int | bool]:
    return {
        "bootstrap.servers": servers,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 2_000,
        "log_level": 0,
    }


class _Reading:
    """Reads to the ends of the assigned partitions, and commits."""

    def __init__(self, consumer: Consumer, name: str) -> None:
        self._consumer, self._name = consumer, name
        self._next: dict[int, int] = {}
        """The offset that is read next, by partition."""

    def to_the_ends(self, *, commits: bool) -> None:
        ends = {
            each.partition: self._consumer.get_watermark_offsets(each, timeout=_WAIT_S)[1]
            for each in self._consumer.assignment()
        }
        _until(lambda: self._reached(ends), f"{self._name} has read every record")
        if commits:
            try:
                self._consumer.commit(asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() != KafkaError._NO_OFFSET:  # there was nothing to read
                    raise

    def poll(self) -> None:
        """Read one record, if there is one."""
        message = self._consumer.poll(0.2)
        if message is not None:
            partition, offset, error = message.partition(), message.offset(), message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            assert partition is not None
            assert offset is not None
            self._next[partition] = offset if error is not None else offset + 1

    def _reached(self, ends: dict[int, int]) -> bool:
        self.poll()
        return all(self._next.get(partition, -1) >= end for partition, end in ends.items())


def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _WAIT_S
    while not holds():
        assert time.monotonic() < deadline, f"waited {_WAIT_S:g} s in vain until {what}"
