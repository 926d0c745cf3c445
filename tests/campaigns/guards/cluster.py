"""Run three brokers that delete, roll and clean within seconds, so that a loss is visible right after a command."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from os import urandom
from pathlib import Path
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaException, Producer
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import KafkaError

from tests.campaigns.guards.scenario import Settings, Write
from tests.campaigns.soundness.logs import Log, read_logs
from tests.support.clients import commit
from tests.support.projects import own_cache, project_of
from tests.support.sandboxes import running
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.compaction import cleaner_checkpoint
from topicwarden.kafka.read.broker_visibility import living_brokers
from topicwarden.toolchain import kafka_jars
from topicwarden.toolchain.prerequisites import require_java

T = TypeVar("T")

BROKERS: Final = (1, 2, 3)
_HURRIED: Final = {
    "log.retention.check.interval.ms": "700",
    "log.initial.task.delay.ms": "500",
    "log.segment.delete.delay.ms": "100",
    "log.flush.start.offset.checkpoint.interval.ms": "1000",
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.dedupe.buffer.size": "8388608",
    "broker.session.timeout.ms": "6000",
    "num.network.threads": "2",
    "num.io.threads": "4",
    # Leaders do not move, so that the same replica's log is compared before and after a command.
    "auto.leader.rebalance.enable": "false",
}
_QUIET_S, _SETTLE_S, _JOIN_S = 2.0, 25.0, 60.0
_RECORDS = 12
"""The number of records for each age and partition."""
_KEYS = 5


@dataclass(frozen=True)
class PartitionState:
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True)
class TopicState:
    """A topic on the cluster: its id, its effective configuration, its partitions, and each leader's log on disk."""

    id: str
    config: Mapping[str, str]
    partitions: Mapping[int, PartitionState]
    logs: Mapping[int, Log]
    replica_logs: Mapping[int, tuple[Log, ...]]
    """By partition: the logs of all replicas."""

    @property
    def records(self) -> frozenset[tuple[int, int]]:
        """Return partition and offset of every record on the leader."""
        return frozenset((number, entry.offset) for number, log in self.logs.items() for entry in log.entries)

    @property
    def kept_records(self) -> frozenset[tuple[int, int]]:
        """Return partition and offset of every record on all replicas. Each broker cleans its log independently."""
        found = set[tuple[int, int]]()
        for number, logs in self.replica_logs.items():
            offsets = [{entry.offset for entry in log.entries} for log in logs]
            found |= {(number, offset) for offset in set.intersection(*offsets)} if offsets else set()
        return frozenset(found)


class HurriedCluster:
    """The brokers, and the changes that scenarios make without topicwarden."""

    def __init__(self, sandbox: Sandbox, start_other: Callable[[], Sandbox], folder: Path) -> None:
        self.sandbox = sandbox
        self._start_other = start_other
        self.folder = folder
        self._admin = KafkaAdminClient(bootstrap_servers=sandbox.bootstrap_servers)

    @cached_property
    def _other(self) -> Sandbox:
        """Another cluster, which few scenarios need: it starts with its first use."""
        return self._start_other()

    @property
    def servers(self) -> list[str]:
        return self.sandbox.bootstrap_servers

    def addresses(self, clusters: str) -> list[str]:
        """Return the addresses of these clusters, ``a`` or another cluster ``b``, in this order."""
        return [
            address for each in clusters for address in (self._other if each == "b" else self.sandbox).bootstrap_servers
        ]

    def close(self) -> None:
        self._admin.close()

    def start_all(self) -> None:
        """Start every stopped broker, for example after an interrupted scenario."""
        self.sandbox.up(brokers=len(BROKERS))

    def create_twins(self, topics: Sequence[str]) -> None:
        """Create topics with records on the other cluster."""
        settings = {"retention.ms": "-1", "segment.ms": "1000"}
        with KafkaAdminClient(bootstrap_servers=self._other.bootstrap_servers) as admin:
            admin.create_topics([NewTopic(topic, 1, 1, topic_configs=settings) for topic in topics])
        with _producing(self._other.bootstrap_servers, []) as producer:
            for topic in topics:
                for number in range(_RECORDS):
                    producer.produce(topic, b"v", f"k{number % _KEYS}", partition=0)

    def twins(self, prefix: str) -> frozenset[object]:
        """Return everything about the topics of the other cluster that a command could change."""
        logs = read_logs(self._other.log_dir(1), prefix)
        found: set[object] = {
            (topic_partition, entry.offset) for topic_partition, log in logs.items() for entry in log.entries
        }
        with KafkaAdminClient(bootstrap_servers=self._other.bootstrap_servers) as admin:
            described = [one for one in admin.describe_topics() if _exists(one, prefix)]
            found |= {(str(one["name"]), str(one["topic_id"]), len(one["partitions"])) for one in described}
            resources = [ConfigResource(ConfigResourceType.TOPIC, str(one["name"])) for one in described]
            for name, entries in (admin.describe_configs(resources)["topic"] if resources else {}).items():
                found |= {(name, setting, str(entry["value"])) for setting, entry in entries.items()}
        return frozenset(found)

    def observe(self, prefix: str) -> dict[str, TopicState]:
        """Return the topics whose names begin with ``prefix``. Every broker must be running."""
        described = [one for one in self._request(lambda admin: admin.describe_topics()) if _exists(one, prefix)]
        names = [str(one["name"]) for one in described]
        configs = self._configs(names)
        logs = {broker: read_logs(self.sandbox.log_dir(broker), prefix) for broker in BROKERS}
        found = {}
        for one in described:
            name = str(one["name"])
            partitions = {int(state["partition_index"]): _partition(state) for state in one["partitions"]}
            found[name] = TopicState(
                str(one["topic_id"]),
                configs[name],
                partitions,
                {
                    number: logs[state.leader][name, number]
                    for number, state in partitions.items()
                    if (name, number) in logs.get(state.leader, {})
                },
                {
                    number: tuple(logs[b][name, number] for b in state.replicas if (name, number) in logs[b])
                    for number, state in partitions.items()
                },
            )
        return found

    def _configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        described = self._request(lambda admin: admin.describe_configs(resources, config_filter="all"))["topic"]
        return {
            name: {setting: entry["value"] for setting, entry in entries.items() if entry["value"] is not None}
            for name, entries in described.items()
        }

    def set_by_hand(self, topic: str, settings: Settings) -> bool:
        """Alter a topic's configuration incrementally; return whether the brokers accepted the change."""
        configs = {name: ("DELETE", None) if value is None else ("SET", value) for name, value in settings}
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=configs)
        return self._tried(lambda admin: admin.alter_configs([resource]))

    def add_partitions(self, topic: str, partitions: int) -> bool:
        return self._tried(lambda admin: admin.create_partitions({topic: partitions}))

    def delete(self, topic: str) -> bool:
        return self._tried(lambda admin: admin.delete_topics([topic]))

    def delete_all(self, prefix: str) -> None:
        names = [
            str(one["name"]) for one in self._request(lambda admin: admin.describe_topics()) if _exists(one, prefix)
        ]
        if names:
            self._request(lambda admin: admin.delete_topics(names))

    def commit(self, group: str, topic: str, offset: int) -> None:
        with suppress(KafkaException):  # may fail right after a broker restart
            commit(self.servers, group, {(topic, 0): offset})

    def append(self, write: Write, partitions: Sequence[int]) -> int:
        """Append the records to each partition; return how many were refused.

        All records of a batch have the same age, so that segments roll between ages.
        """
        refused: list[object] = []
        undated = [age for age in write.ages if age is None]
        dated = sorted((age for age in write.ages if age is not None), reverse=not write.youngest_first)
        for age in (*undated, *dated):
            with _producing(self.servers, refused, aborted=write.aborted) as producer:
                for partition in partitions:
                    for number in range(_RECORDS):
                        key = None if write.keyless and number % 3 == 0 else f"k{number % _KEYS}"
                        value = urandom(120_000) if write.large else urandom(100)
                        stamp = -1 if age is None else int(time.time() * 1000) - age + number
                        producer.produce(write.topic, value, key, partition=partition, timestamp=stamp)
        return len(refused)

    def nudge(self, topics: Mapping[str, Sequence[int]], number: int) -> None:
        """Append one record with a unique key to each partition, as a live producer would. Segments may roll."""
        with _producing(self.servers, []) as producer:
            for topic, partitions in topics.items():
                for partition in partitions:
                    producer.produce(topic, b"nudge", f"nudge-{number}-{time.time_ns()}", partition=partition)

    def stop(self, broker: int) -> None:
        """Kill a broker; return when its session has expired, so that no partition has it as leader."""
        self.sandbox.kill(broker)
        deadline = time.monotonic() + _JOIN_S
        while broker in self._request(living_brokers) or any(s["leader_id"] == broker for s in self._partitions()):
            assert time.monotonic() < deadline, f"after {_JOIN_S:g} s broker {broker} is still in the cluster"
            time.sleep(0.3)

    def start(self, broker: int) -> None:
        """Start a broker again; return when every replica is in sync."""
        self.sandbox.start(broker)
        deadline = time.monotonic() + _JOIN_S
        while time.monotonic() < deadline:
            states = self._partitions()
            if all(s["leader_id"] >= 0 and len(s["isr_nodes"]) == len(s["replica_nodes"]) for s in states):
                return
            time.sleep(0.3)
        raise AssertionError(f"after {_JOIN_S:g} s some replica is not in sync with broker {broker} started again")

    def _partitions(self) -> list[Any]:
        described = self._request(lambda admin: admin.describe_topics())
        return [state for one in described for state in one["partitions"]]

    def settle(self, prefix: str) -> bool:
        """Wait until the logs and the cleaner's checkpoints no longer change; return whether they settled in time."""
        deadline = time.monotonic() + _SETTLE_S
        seen, since = self._fingerprint(prefix), time.monotonic()
        while time.monotonic() < deadline:
            time.sleep(0.25)
            now = self._fingerprint(prefix)
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > _QUIET_S:
                return True
        return False

    def _fingerprint(self, prefix: str) -> frozenset[object]:
        found = set[object]()
        for broker in BROKERS:
            folder = self.sandbox.log_dir(broker)
            for log in folder.glob(f"{prefix}*"):
                try:
                    found |= {(broker, str(file), file.stat().st_size) for file in log.glob("*.log")}
                except FileNotFoundError:  # deleted in the meantime
                    found.add((broker, str(log), None))
            found |= {
                (broker, topic_partition, at)
                for topic_partition, at in cleaner_checkpoint(folder).items()
                if topic_partition[0][:1] == "g"
            }
        return frozenset(found)

    def _tried(self, act: Callable[[KafkaAdminClient], object]) -> bool:
        try:
            act(self._admin)
        except (KafkaError, ValueError):  # the client finds no configuration for a deleted topic
            return False
        return True

    def _request(self, ask: Callable[[KafkaAdminClient], Any]) -> Any:
        """Return the answer of ``ask``. Retry, because calls may fail right after a broker restart."""
        for _ in range(20):
            try:
                return ask(self._admin)
            except KafkaError:
                time.sleep(0.5)
                self._admin.close()
                self._admin = KafkaAdminClient(bootstrap_servers=self.servers)
        return ask(self._admin)


@contextmanager
def hurried_cluster(folder: Path) -> Iterator[HurriedCluster]:
    """Start the brokers with their own cache; stop them and delete their data on exit."""
    with own_cache(folder, warm=True), ExitStack() as stack:
        project = project_of(folder / "sandbox", {})

        def start_other() -> Sandbox:
            other = Sandbox(folder / "other", require_java(), kafka_jars(project, print))
            return stack.enter_context(running(other, 1, _HURRIED, "256m"))

        sandbox = stack.enter_context(running(sandbox_of(project), len(BROKERS), _HURRIED, "384m"))
        cluster = HurriedCluster(sandbox, start_other, folder)
        stack.callback(cluster.close)
        yield cluster


@contextmanager
def _producing(servers: Sequence[str], refused: list[object], *, aborted: bool = False) -> Iterator[Producer]:
    """Yield a producer; with ``aborted``, what it writes belongs to a transaction that is aborted at the end."""
    transaction = {"transactional.id": f"guards-{time.time_ns()}"} if aborted else {}
    # No compression, because the logs are read from disk without a decompressor.
    producer = Producer(
        {
            "bootstrap.servers": ",".join(servers),
            "acks": "all",
            "linger.ms": 5,
            "log_level": 0,
            "message.timeout.ms": 8_000,
            "queue.buffering.max.kbytes": 200_000,
            "on_delivery": lambda error, _: refused.append(error) if error else None,
            **transaction,
        }
    )
    if aborted:
        producer.init_transactions(30)
        producer.begin_transaction()
    yield producer
    producer.flush(20)
    if aborted:
        producer.abort_transaction(30)


def _exists(described: Mapping[str, Any], prefix: str) -> bool:
    return described["error_code"] == 0 and str(described["name"]).startswith(prefix)


def _partition(state: Mapping[str, Any]) -> PartitionState:
    return PartitionState(state["leader_id"], tuple(state["replica_nodes"]), tuple(sorted(state["isr_nodes"])))
