"""Legitimate histories that look like undeclared use: each one refutes a claim that a check might make.

Each trap is a function that uses a ``Stage``: it runs clients while they are declared, and observes.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.campaigns.usage.clients import Client, Clients, Kind, open_transaction
from tests.campaigns.usage.cluster import PRODUCER_EXPIRATION_MS, SHARE_LOCK_MS, VISIBLE, UsageCluster
from tests.campaigns.usage.observer import Observer, Reading, Reported, failed, read
from tests.campaigns.usage.scenario import SOURCE
from tests.support.access_parts import declared_access
from tests.support.clients import commit, until
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka_facts.access.roles import consume, produce
from topicwarden.model.access import Acl, Grant

_WAIT_S: Final = 60.0
_SHARE_READER: Final = """
import sys
from confluent_kafka import ShareConsumer
consumer = ShareConsumer({
    "bootstrap.servers": sys.argv[1], "group.id": sys.argv[2], "share.acknowledgement.mode": "explicit", "log_level": 0
})
consumer.subscribe([sys.argv[3]])
while not consumer.poll(1):
    pass
print("read", flush=True)
sys.stdin.read()
"""


class Stage:
    """One topic on the cluster, a client of it, and the observations of one stack."""

    def __init__(self, cluster: UsageCluster, name: str, kind: Kind, chance: random.Random, replicas: int = 1) -> None:
        self.cluster, self.topic, self.kind = cluster, f"{name}.orders", kind
        self.name = f"{VISIBLE if chance.random() < 0.5 else ''}{name}-app"
        self.clients = Clients(cluster.bootstrap)
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        self.observer = Observer(cluster.folder / "histories" / name, chance)
        self.wrong: list[str] = []
        for done in self.admin.create_topics([NewTopic(self.topic, 1, replicas)]).values():
            done.result(_WAIT_S)
        base = consume(self.topic, Grant("User:base", name=f"{name}-base"))
        self._without: frozenset[Acl] = frozenset(base)
        grant = Grant(f"User:{self.name}", name=self.name if kind is not Kind.IDEMPOTENT else None)
        self._with = self._without | frozenset((produce if kind.writes else consume)(self.topic, grant))
        until(lambda: self._leader(self.topic, 0) is not None, "the topic has a leader")

    def start(self) -> Client:
        return self.clients.start(self.kind, self.name, self.topic, static=True)

    def write(self) -> None:
        writer = self.clients.start(Kind.PLAIN, "unknown", self.topic)
        writer.work()
        writer.close()

    def observe(self, *, declared: bool, by: Connection | None = None, clock_ms: int = 0) -> list[Reported]:
        """Observe with the client ``declared`` or not, and note each false ``fail``."""
        reading = read(by or self.cluster.admin)
        return self.observe_reading(reading, declared=declared, clock_ms=clock_ms)

    def observe_reading(self, reading: Reading, *, declared: bool, clock_ms: int = 0) -> list[Reported]:
        acls = self._with if declared else self._without
        self.observer.set_the_clock(clock_ms)
        access = declared_access(acls=dict.fromkeys(sorted(acls), SOURCE))
        reported = self.observer.observe(reading, {self.topic}, access)
        self.wrong += [message for messages in failed(reported).values() for message in messages]
        return reported

    def reading(self) -> Reading:
        return read(self.cluster.admin)

    def leader_of_group(self) -> int:
        """Return the broker that coordinates the group of the client."""
        return _coordinator(self.admin, self.name)

    def _leader(self, topic: str, partition: int) -> int | None:
        found = self.admin.list_topics(topic, timeout=_WAIT_S).topics[topic]
        leader = found.partitions[partition].leader if partition in found.partitions else -1
        return int(leader) if leader >= 0 else None


def _coordinator(admin: AdminClient, group: str) -> int:
    (described,) = (done.result(_WAIT_S) for done in admin.describe_consumer_groups([group]).values())
    return int(described.coordinator.id)


def crashed_member(stage: Stage) -> None:
    """A member crashes when its declaration is removed. It stays in its group until its session times out."""
    stage.write()
    client = stage.start()
    client.work()
    stage.observe(declared=True)
    client.abandon()
    stage.observe(declared=False)
    stage.observe(declared=False)


def crashed_member_at_first_sight(stage: Stage) -> None:
    """The first observation of all comes after a member has crashed, and its declaration was removed."""
    stage.write()
    client = stage.start()
    client.work()
    client.abandon()
    stage.observe(declared=False)
    stage.observe(declared=False)


def open_transaction_that_is_aborted(stage: Stage) -> None:
    """A producer crashes in a transaction when its declaration is removed. The coordinator aborts it later."""
    client = stage.start()
    client.work()
    stage.observe(declared=True)
    open_transaction(client)
    client.abandon()
    stage.observe(declared=False)
    stage.observe(declared=False)
    _until_aborted(stage)
    stage.observe(declared=False)
    stage.observe(declared=False)


def open_transaction_at_first_sight(stage: Stage) -> None:
    """The first observation of all comes in a transaction that began while it was declared."""
    client = stage.start()
    open_transaction(client)
    client.abandon()
    stage.observe(declared=False)
    stage.observe(declared=False)
    _until_aborted(stage)
    stage.observe(declared=False)


def expired_share_locks(stage: Stage) -> None:
    """A consumer of a share group hangs in the last delivery. The end of its locks moves the start offset."""
    stage.write()
    stage.start().close()  # sets the group's start offset
    command = [sys.executable, "-c", _SHARE_READER, stage.cluster.bootstrap, stage.name, stage.topic]
    for last in (False, True):
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout
                assert process.stdout.readline() == "read\n"
                if last:
                    process.send_signal(signal.SIGSTOP)
                    _observe_until_locks_expire(stage)
            finally:
                process.send_signal(signal.SIGKILL)


def _observe_until_locks_expire(stage: Stage) -> None:
    stage.observe(declared=True)
    reading = stage.reading()
    before = _offsets(reading, stage.name)
    stage.observe_reading(reading, declared=False)
    deadline = time.monotonic() + 3 * SHARE_LOCK_MS / 1000
    while _offsets(stage.reading(), stage.name) == before and time.monotonic() < deadline:
        time.sleep(0.5)
    stage.observe(declared=False)


def coordinator_is_down(stage: Stage) -> None:
    """The coordinator of a group is down in one observation, so that brokers do not list the group."""
    stage.write()
    client = stage.start()
    client.work()
    client.close()
    stage.observe(declared=True)
    coordinator = stage.leader_of_group()
    stage.observe(declared=False)
    stage.cluster.sandbox.stop(coordinator)
    try:
        stage.observe(declared=False)
    finally:
        stage.cluster.sandbox.start(coordinator)
    until(lambda: bool(_offsets(stage.reading(), stage.name)), "the group is listed again")
    stage.observe(declared=False)
    stage.observe(declared=False)


def blind_observation_of_other_access(stage: Stage) -> None:
    """A group is declared for a while. The only observation in that time did not see it."""
    stage.write()
    commit(stage.cluster.servers, stage.name, {(stage.topic, 0): 1})
    stage.observe(declared=False)
    commit(stage.cluster.servers, stage.name, {(stage.topic, 0): 2})
    stage.observe(declared=True, by=stage.cluster.restricted)
    stage.observe(declared=False)
    stage.observe(declared=False)


def clock_is_set_back(stage: Stage) -> None:
    """A group is declared for a while. The clock of the only observation in that time was too early."""
    stage.write()
    commit(stage.cluster.servers, stage.name, {(stage.topic, 0): 1})
    stage.observe(declared=False)
    commit(stage.cluster.servers, stage.name, {(stage.topic, 0): 2})
    stage.observe(declared=True, clock_ms=-600_000)
    stage.observe(declared=False)
    stage.observe(declared=False)


def clock_was_ahead(stage: Stage) -> None:
    """The clock of the first observation was ahead, so that all others seem to be before it."""
    stage.write()
    commit(stage.cluster.servers, stage.name, {(stage.topic, 0): 1})
    stage.observe(declared=False, clock_ms=60_000)
    commit(stage.cluster.servers, stage.name, {(stage.topic, 0): 2})
    stage.observe(declared=True)
    stage.observe(declared=False)
    stage.observe(declared=False, clock_ms=120_000)
    stage.observe(declared=False, clock_ms=180_000)


def producer_expires_and_is_back(stage: Stage) -> None:
    """Brokers forget a producer, until one of them builds its state from the log again."""
    client = stage.start()
    client.work()
    client.close()
    stage.observe(declared=True)
    stage.observe(declared=False)
    time.sleep(PRODUCER_EXPIRATION_MS / 1000)
    until(lambda: not stage.reading().use.producers[stage.topic].positions, "the producer has expired")
    stage.observe(declared=False)
    (leader,) = (state.leader for state in stage.reading().snapshot.topics[stage.topic].replicas)
    assert leader is not None
    stage.cluster.sandbox.kill(leader)
    stage.cluster.sandbox.start(leader)
    until(lambda: stage.reading().snapshot.topics[stage.topic].replicas[0].leader is not None, "it has a leader")
    stage.observe(declared=False)
    stage.observe(declared=False)


def deleted_and_declared_again(stage: Stage) -> None:
    """A group is deleted, declared, commits, is no longer declared, and is seen last with what it has left."""
    stage.write()
    commit(stage.cluster.servers, stage.name, {(stage.topic, 0): 1})
    stage.observe(declared=False)
    for done in stage.admin.delete_consumer_groups([stage.name]).values():
        done.result(_WAIT_S)
    stage.observe(declared=False)
    commit(stage.cluster.servers, stage.name, {(stage.topic, 0): 3})
    stage.observe(declared=True)
    stage.observe(declared=False)
    stage.observe(declared=False)


TRAPS: Final[Mapping[str, tuple[Callable[[Stage], None], tuple[Kind, ...]]]] = {
    "a member crashed": (crashed_member, (Kind.CLASSIC, Kind.CONSUMER)),
    "a member crashed before the first observation": (crashed_member_at_first_sight, (Kind.CLASSIC, Kind.CONSUMER)),
    "an open transaction is aborted": (open_transaction_that_is_aborted, (Kind.TRANSACTIONAL,)),
    "an open transaction before the first observation": (open_transaction_at_first_sight, (Kind.TRANSACTIONAL,)),
    "locks of a share group expire": (expired_share_locks, (Kind.SHARE,)),
    "the coordinator of a group is down": (coordinator_is_down, (Kind.CLASSIC, Kind.MANUAL)),
    "an observation of other access sees no groups": (blind_observation_of_other_access, (Kind.MANUAL,)),
    "the clock is set back": (clock_is_set_back, (Kind.MANUAL,)),
    "the clock was ahead": (clock_was_ahead, (Kind.MANUAL,)),
    "a producer expires and is back": (producer_expires_and_is_back, (Kind.IDEMPOTENT, Kind.TRANSACTIONAL)),
    "a group is deleted and declared again": (deleted_and_declared_again, (Kind.MANUAL,)),
}
"""The traps, and the kinds of clients for which they are set."""
NEEDS_BROKERS: Final = frozenset({coordinator_is_down, producer_expires_and_is_back})
"""Traps that stop a broker."""


def spring(cluster: UsageCluster, seed: str, names: tuple[str, ...] = tuple(TRAPS)) -> dict[str, list[str]]:
    """Run the traps with these names; return the false results of each, by name and kind of client."""
    results = {}
    for name in names:
        (trap, kinds), number = TRAPS[name], list(TRAPS).index(name)
        for kind in kinds:
            stage = Stage(cluster, f"t{seed}x{number}{kind.name.lower()}", kind, random.Random(f"{seed}/{name}"))
            trap(stage)
            results[f"{name} ({kind})"] = stage.wrong
    return results


def _until_aborted(stage: Stage) -> None:
    def aborted() -> bool:
        found = stage.reading().use.transactions.found
        return any(each.name == stage.name and each.state == "CompleteAbort" for each in found)

    until(aborted, "the coordinator has aborted the transaction")


def _offsets(reading: Reading, group: str) -> Mapping[tuple[str, int], int]:
    return next((each.offsets for each in reading.use.groups if each.name == group), {})
