"""Observe real clients of each kind twice: who used a topic between two observations, and who did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from kafka.admin import NewTopic

from tests.support import maven_jars
from tests.support.applications import streams
from tests.support.applications.java_application import JavaApplication
from tests.support.applications.share_consumer import sharing
from tests.support.clients import commit, until
from tests.support.restricted_user import RestrictedCluster
from topicwarden.extensions.sandbox.jvm import Jvm
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.model.access import NO_ACCESS
from topicwarden.model.usage import Interval, TopicUse, Use, UserKind
from topicwarden.toolchain import Toolchain
from topicwarden.usage.use_history import RememberedUse, UseHistory, remember_use

READ = ("classic", "consumer", "share", "manual", "left")


class Stage:
    """Clients of each kind on one broker, and the observations of it."""

    def __init__(self, servers: list[str], cluster: Cluster, history: Path) -> None:
        self.servers, self.cluster, self.history = servers, cluster, history
        self.producers: dict[str, Producer] = {}
        self.consumers: dict[str, Consumer] = {}

    def observe(self) -> RememberedUse:
        snapshot = self.cluster.snapshot()
        return remember_use(UseHistory(str(self.history)), snapshot, self.cluster.use(snapshot), NO_ACCESS)

    def read(self, protocol: str) -> None:
        """Read one record of the topic named as the protocol, with a group named so, and commit."""
        if protocol not in self.consumers:
            settings = {"group.id": protocol, "group.protocol": protocol, "auto.offset.reset": "earliest"}
            consumer = Consumer({"bootstrap.servers": ",".join(self.servers), "enable.auto.commit": False, **settings})
            consumer.subscribe([protocol])
            self.consumers[protocol] = consumer
        message = self.consumers[protocol].poll(60)
        assert message is not None and message.error() is None, message
        self.consumers[protocol].commit(asynchronous=False)

    def write(self, topic: str, settings: Mapping[str, object], *, commit: bool = True) -> None:
        """Write one record, with one producer for each topic."""
        transactional = "transactional.id" in settings
        if topic not in self.producers:
            self.producers[topic] = Producer({"bootstrap.servers": ",".join(self.servers), "linger.ms": 0, **settings})
            if transactional:
                self.producers[topic].init_transactions(60)
        producer = self.producers[topic]
        if transactional:
            producer.begin_transaction()
        producer.produce(topic, b"value")
        producer.flush(60)
        if transactional and commit:
            producer.commit_transaction(60)

    def log_end(self, topic: str) -> int:
        return sum(log.end for log in self.cluster.snapshot({topic}).topics[topic].extents.values())

    def share_offset(self) -> int:
        return max((max(g.offsets.values(), default=-1) for g in self.cluster.groups(["share"]) if g.share), default=-1)


WRITERS: Mapping[str, Mapping[str, object]] = {
    "transactional": {"transactional.id": "transactional-1"},
    "marker": {"transactional.id": "marker-1"},
    "idempotent": {"enable.idempotence": True},
    "silent": {"enable.idempotence": True},
    "plain": {"enable.idempotence": False},
}


@contextmanager
def clients(stage: Stage, newest: Jvm, tools: Toolchain, folder: Path) -> Iterator[None]:
    """Run clients of each kind, which have all used their topics once. One transaction is open."""
    with connected(stage.servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in (*READ, *WRITERS)])
    with writing(stage.servers) as writer:
        for name in READ:
            for number in range(10):
                writer.send(name, f"k{number}", "v")
    for protocol in ("classic", "consumer"):
        stage.read(protocol)
    for group in ("manual", "left"):
        commit(stage.servers, group, {(group, 0): 3})
    for topic, settings in WRITERS.items():
        stage.write(topic, settings)
    stage.write("marker", WRITERS["marker"], commit=False)
    jars = (tools.kafka_jars, maven_jars.provide("applications"))
    once = {"processing.guarantee": "exactly_once_v2"}
    with (
        streams.counting(stage.servers, JavaApplication(tools.java, jars, folder / "streams"), "streams", (), once),
        sharing(newest, stage.servers, "share", "share", folder),
    ):
        until(lambda: stage.share_offset() >= 0, "the share group reads")
        try:
            yield
        finally:
            for consumer in stage.consumers.values():
                consumer.close()


def use_again(stage: Stage) -> None:
    """Let clients use their topics once more: all but ``left`` and ``silent``. The open transaction ends."""
    share, repartition = stage.share_offset(), stage.log_end(streams.REPARTITION)
    for protocol in ("classic", "consumer"):
        stage.read(protocol)
    commit(stage.servers, "manual", {("manual", 0): 5})
    for topic in ("transactional", "idempotent", "plain"):
        stage.write(topic, WRITERS[topic])
    stage.producers["marker"].commit_transaction(60)
    with writing(stage.servers) as writer:
        for number in range(10):
            writer.send(streams.WORDS, None, "topic")
            writer.send("share", f"new{number}", "v")
    until(lambda: stage.log_end(streams.REPARTITION) > repartition, "the Streams application has written")
    until(lambda: stage.share_offset() > share, "the share group has acknowledged a record")


def used(use: TopicUse, kind: UserKind, name: str = "") -> Use:
    (found,) = (user for user in use.users if user.kind is kind and user.name.startswith(name))
    return found


@pytest.fixture(scope="module")
def observed(
    newest: Jvm, tools: Toolchain, newest_cluster: RestrictedCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RememberedUse, RememberedUse]]:
    """Two observations; clients have used topics between them."""
    servers, folder = newest_cluster.servers, tmp_path_factory.mktemp("clients")
    with open_cluster(Connection(tuple(servers), tls=False)) as cluster:
        stage = Stage(servers, cluster, folder / "history")
        with clients(stage, newest, tools, folder):
            first = stage.observe()
            use_again(stage)
            yield first, stage.observe()


Observed = tuple[RememberedUse, RememberedUse]


def test_the_first_observation_sees_who_may_have_used_a_topic_but_not_when(observed: Observed) -> None:
    first, _ = observed
    assert first.unseen == ()
    assert all(first.topics[name].users for name in READ)
    marker = used(first.topics["marker"], UserKind.TRANSACTIONAL_ID)
    assert marker.active and marker.last == Interval(first.observed_at, first.observed_at)
    assert used(first.topics["manual"], UserKind.GROUP).last is None
    assert used(first.topics["idempotent"], UserKind.PRODUCER_ID).last is None
    assert first.topics["plain"].users == ()


@pytest.mark.parametrize(
    ("topic", "group", "kind"),
    [
        ("classic", "classic", "classic"),
        ("consumer", "consumer", "consumer"),
        ("share", "share", "share"),
        (streams.WORDS, streams.APPLICATION, "streams"),
    ],
)
def test_a_group_with_members_is_active(observed: Observed, topic: str, group: str, kind: str) -> None:
    _, second = observed
    found = used(second.topics[topic], UserKind.GROUP, group)
    assert (found.group_type, found.active, found.members) == (kind, True, 1)
    assert found.last == Interval(second.observed_at, second.observed_at)
    assert found.hosts == {"127.0.0.1"}
    assert second.groups[group].active
    assert topic in second.groups[group].topics


@pytest.mark.parametrize(
    ("topic", "kind", "name", "moved"),
    [
        ("manual", UserKind.GROUP, "manual", True),
        ("left", UserKind.GROUP, "left", False),
        ("transactional", UserKind.TRANSACTIONAL_ID, "transactional-1", True),
        ("idempotent", UserKind.PRODUCER_ID, "", True),
        ("silent", UserKind.PRODUCER_ID, "", False),
    ],
)
def test_a_use_between_two_observations_is_proven(
    observed: Observed, topic: str, kind: UserKind, name: str, moved: bool
) -> None:
    first, second = observed
    found = used(second.topics[topic], kind, name)
    assert found.last == (Interval(first.observed_at, second.observed_at) if moved else None)
    assert not found.active
    assert second.topics[topic].unused_since == (second.observed_at if moved else first.observed_at)


def test_a_transaction_of_version_2_that_began_and_ended_between_two_observations_is_a_write(
    observed: Observed,
) -> None:
    first, second = observed
    found = used(second.topics[streams.REPARTITION], UserKind.TRANSACTIONAL_ID, streams.APPLICATION)
    assert found.last is not None
    assert found.last.after >= first.observed_at


def test_the_marker_that_ends_a_transaction_is_no_write_of_its_producer(observed: Observed) -> None:
    first, second = observed
    found = used(second.topics["marker"], UserKind.TRANSACTIONAL_ID, "marker-1")
    assert (found.active, found.last) == (False, Interval(first.observed_at, first.observed_at))


def test_a_plain_producer_is_known_by_the_log_end_alone(observed: Observed) -> None:
    first, second = observed
    use = second.topics["plain"]
    assert use.last_written == Interval(first.observed_at, second.observed_at)
    assert use.users == ()
    assert second.topics["silent"].last_written is None
