"""Run real applications on a broker with an authorizer, with the ACLs of their role and no others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from kafka.admin import NewTopic

from tests.support import maven_jars
from tests.support.applications import connect, streams
from tests.support.applications.java_application import JavaApplication
from tests.support.projects import own_cache
from tests.support.sandboxes import running
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios.writer import writing
from topicwarden.kafka.connect.clients import connected
from topicwarden.kafka.read.consumer_groups import read_groups
from topicwarden.kafka.write.access_admin import (
    Credential,
    Password,
    create_acls,
    delete_acls,
    wait_for_acls,
    wait_for_credentials,
    write_credentials,
)
from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.access.roles import ConnectCluster, NamePattern, StreamsApplication
from topicwarden.model.access import Acl, Grant
from topicwarden.toolchain import Toolchain

USER, PASSWORD = "app", "secret"
SASL = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
    f'username="{USER}" password="{PASSWORD}";',
}
CLIENT = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.username": USER,
    "sasl.password": PASSWORD,
}
TOPIC = "orders"
DEADLINE_S = 60


@pytest.fixture(scope="module")
def sandbox(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with own_cache(tmp_path_factory.mktemp("roles")) as folder:
        sandbox = Sandbox(folder / "sandbox", tools.java, tools.kafka_jars)
        overrides = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}
        with running(sandbox, brokers=1, overrides=overrides, authorizer=True):
            with connected(sandbox.bootstrap_servers) as admin:
                credential = {Credential(USER, "SCRAM-SHA-512"): Password(PASSWORD, 4096)}
                assert write_credentials(admin, credential) == {}
                assert not wait_for_credentials(admin, credential)
                admin.create_topics([NewTopic(TOPIC, 1, 1)])
            yield sandbox


@contextmanager
def allowed(sandbox: Sandbox, acls: Iterable[Acl]) -> Iterator[list[Acl]]:
    """Create exactly these ACLs for the block."""
    created = list(dict.fromkeys(acls))
    with connected(sandbox.bootstrap_servers) as admin:
        assert create_acls(admin, created) == {}
        assert not wait_for_acls(admin, created, exist=True)
        yield created
        assert delete_acls(admin, created) == {}
        assert not wait_for_acls(admin, created, exist=False)


def produced(sandbox: Sandbox, **more: Any) -> None:
    """Write one record with an idempotent producer, in a transaction if it has a transactional id."""
    producer = Producer(
        {"bootstrap.servers": ",".join(sandbox.user_servers), "enable.idempotence": True, **CLIENT, **more}
    )
    failed: list[Any] = []
    if "transactional.id" in more:
        producer.init_transactions(DEADLINE_S)
        producer.begin_transaction()
    producer.produce(TOPIC, b"x", on_delivery=lambda error, _: failed.append(error) if error else None)
    producer.flush(DEADLINE_S)
    if failed:
        raise KafkaException(failed[0])
    if "transactional.id" in more:
        producer.commit_transaction(DEADLINE_S)


def consumed(sandbox: Sandbox, group: str) -> None:
    """Read one record as a member of ``group``, and commit."""
    consumer = Consumer(
        {
            "bootstrap.servers": ",".join(sandbox.user_servers),
            "group.id": group,
            "auto.offset.reset": "earliest",
            **CLIENT,
        }
    )
    try:
        consumer.subscribe([TOPIC])
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error():
                raise KafkaException(message.error())
            consumer.commit(asynchronous=False)
            return
        raise AssertionError("no record")
    finally:
        consumer.close()


@pytest.mark.parametrize(
    ("acls", "use"),
    [
        (list(roles.produce(TOPIC, Grant("User:app"))), produced),
        (
            list(roles.produce(TOPIC, Grant("User:app", name="tx-", prefix=True))),
            lambda sandbox: produced(sandbox, **{"transactional.id": "tx-1"}),
        ),
        (list(roles.consume(TOPIC, Grant("User:app", name="billing"))), lambda sandbox: consumed(sandbox, "billing")),
    ],
    ids=["produce", "transactions", "consume"],
)
def test_a_role_is_complete_and_needs_each_of_its_acls(
    sandbox: Sandbox, acls: list[Acl], use: Callable[[Sandbox], None]
) -> None:
    with writing(sandbox.bootstrap_servers) as writer:
        writer.send(TOPIC, None, "x")
    with allowed(sandbox, acls):
        use(sandbox)
    for missing in acls:
        with allowed(sandbox, [acl for acl in acls if acl is not missing]), pytest.raises(KafkaException):
            use(sandbox)


@pytest.mark.nightly("The suite keeps Connect with exactly-once delivery, and the ACLs of each role in unit tests.")
@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_streams_application_needs_only_the_acls_of_its_role(
    sandbox: Sandbox, tools: Toolchain, tmp_path: Path, exactly_once: bool
) -> None:
    role = StreamsApplication("User:app", streams.APPLICATION, (NamePattern(streams.WORDS),), exactly_once=exactly_once)
    settings = SASL | ({"processing.guarantee": "exactly_once_v2"} if exactly_once else {})
    application = JavaApplication(tools.java, (tools.kafka_jars, maven_jars.provide("applications")), tmp_path)
    with allowed(sandbox, roles.streams(role)):
        with streams.counting(sandbox.bootstrap_servers, application, "classic", sandbox.user_servers, settings):
            pass
        log = (tmp_path / "console.log").read_text(encoding="utf-8", errors="replace")
        assert "AuthorizationException" not in log
    with connected(sandbox.bootstrap_servers) as admin:
        internal = (streams.WORDS, streams.REPARTITION, streams.CHANGELOG, streams.WINDOWED)
        admin.delete_topics(list(internal))
        admin.delete_groups([streams.APPLICATION])


@pytest.mark.nightly("The suite keeps exactly-once delivery, which needs the most ACLs.", stays=("True",))
@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_connect_cluster_needs_only_the_acls_of_its_role(
    sandbox: Sandbox, tools: Toolchain, tmp_path: Path, exactly_once: bool
) -> None:
    role = ConnectCluster(
        "User:app",
        connect.GROUP,
        connect.CONFIGS,
        connect.OFFSETS,
        connect.STATUS,
        reads=(NamePattern(connect.LINES),),
        writes=(NamePattern(connect.LINES),),
        exactly_once=exactly_once,
    )
    topics = (connect.CONFIGS, connect.OFFSETS, connect.STATUS, connect.LINES)
    with connected(sandbox.bootstrap_servers) as admin:
        policies = ("compact", "compact", "compact", "delete")
        admin.create_topics(
            [
                NewTopic(name, 1, 1, topic_configs={"cleanup.policy": policy})
                for name, policy in zip(topics, policies, strict=True)
            ]
        )
    parts = ("", "producer.", "consumer.", "admin.")
    more = {f"{part}{name}": value for part in parts for name, value in SASL.items()}
    more |= {"exactly.once.source.support": "enabled"} if exactly_once else {}
    sink = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "tasks.max": "1",
        "topics": connect.LINES,
        "file": str(tmp_path / "copied.txt"),
    }
    application = JavaApplication(tools.java, (tools.kafka_jars, maven_jars.provide("applications")), tmp_path)
    with (
        allowed(sandbox, roles.connect(role)),
        connect.reading_a_file(
            sandbox.bootstrap_servers, application, sandbox.user_servers, more, connectors={"copy": sink}
        ),
    ):
        deadline = time.monotonic() + DEADLINE_S
        with connected(sandbox.bootstrap_servers) as admin:
            while "connect-copy" not in {group.name for group in read_groups(admin, [connect.LINES])}:
                assert time.monotonic() < deadline, "the sink commits no offsets"
                time.sleep(0.2)
    with connected(sandbox.bootstrap_servers) as admin:
        admin.delete_topics(list(topics))
        admin.delete_groups([connect.GROUP, "connect-copy"])
