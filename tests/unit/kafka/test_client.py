"""Test our clients of Kafka: errors, repeated requests, TLS handshakes, logging, and parts that a user may not read."""

from __future__ import annotations

import ast
import asyncio
import re
import select
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from kafka import KafkaAdminClient
from kafka.errors import (
    ClusterAuthorizationFailedError,
    KafkaConnectionError,
    KafkaError,
    NodeNotReadyError,
    RequestTimedOutError,
    UnknownBrokerIdError,
)

from topicwarden.kafka.connect import broker_probe, clients, request_errors
from topicwarden.kafka.connect.broker_probe import Probed
from topicwarden.kafka.connect.client_internals import send_to_broker
from topicwarden.kafka.connect.connection import Connection, tls_context
from topicwarden.kafka.connect.request_errors import RequestError
from topicwarden.kafka.read import authorizer_reads
from topicwarden.kafka.read.authorizer_reads import AclListing, authorizer_settings, list_acls
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.model.access import Acl, AuthorizerSettings, Operation, PatternType, PermissionType, ResourceType
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks import client_tls


class _Admin:
    def __init__(self, **_: object) -> None: ...

    def close(self) -> None: ...


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "KafkaAdminClient", _Admin)
    monkeypatch.setattr(clients, "probe", lambda _, addresses: Probed(tuple(addresses), {}))
    monkeypatch.setattr(clients, "advertised_addresses", lambda _: ["127.0.0.1:1"])


def test_an_internal_error_is_no_cluster_error() -> None:
    with pytest.raises(RuntimeError, match="ours"), clients.open_admin(Connection(("127.0.0.1:1",), tls=False)):
        raise RuntimeError("ours")


def test_a_kafka_error_is_a_cluster_error() -> None:
    refused = pytest.raises(Refusal, match=r"the Kafka cluster at 127\.0\.0\.1:1 stopped answering")
    with refused, clients.open_admin(Connection(("127.0.0.1:1",), tls=False)):
        raise KafkaConnectionError("gone")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UnknownBrokerIdError(3), "broker 3 left the cluster during the command; run the command again"),
        (NodeNotReadyError(3), "broker 3 does not answer; run the command again"),
    ],
)
def test_a_lost_broker_is_named(error: KafkaError, reason: str) -> None:
    with (
        pytest.raises(Refusal, match=reason),
        clients.open_admin(Connection(("127.0.0.1:1",), tls=False)),
    ):
        raise error


class _AdminOf:
    """A client that reaches the cluster of the first server, by the map ``clusters``, and counts its requests."""

    clusters: Mapping[str, str | None]
    requests: int

    def __init__(self, bootstrap_servers: list[str], **_: object) -> None:
        self._server = bootstrap_servers[0]

    def describe_cluster(self) -> dict[str, str | None]:
        type(self).requests += 1
        return {"cluster_id": self.clusters[self._server]}

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("clusters", "required", "refused"),
    [
        ({"a:1": "A", "b:1": "A", "c:1": "B"}, None, "c:1: leads to cluster B"),
        ({"a:1": "A", "b:1": "A", "c:1": "B"}, "A", "c:1: leads to cluster B"),
        ({"a:1": "B", "b:1": "A"}, "A", "a:1: leads to cluster B"),
        ({"a:1": "B"}, "A", "a:1: leads to cluster B"),
        ({"a:1": "B", "b:1": "B"}, "A", "a:1, b:1: leads to cluster B"),
        ({"a:1": "A", "b:1": "A", "c:1": "A"}, "A", ""),
        ({"a:1": "A", "b:1": "A", "c:1": None}, "A", ""),
        ({"a:1": None, "b:1": None}, "A", ""),
        ({"a:1": "A"}, None, ""),
    ],
)
def test_a_server_of_another_cluster_is_refused(
    clusters: dict[str, str | None], required: str | None, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client takes any of the servers, so some commands would read the other cluster, or some connections of one."""
    monkeypatch.setattr(clients, "KafkaAdminClient", _AdminOf)
    monkeypatch.setattr(_AdminOf, "clusters", clusters, raising=False)
    monkeypatch.setattr(_AdminOf, "requests", 0, raising=False)
    monkeypatch.setattr(clients, "advertised_addresses", lambda _: ["a:1"])
    for sandbox, remedy in (
        (False, "name servers of one cluster only in kafka:boot"),
        (True, "`topicwarden sandbox down`"),
    ):
        connection = Connection(tuple(clusters), tls=False, sandbox=sandbox, cluster_id=required)
        if refused:
            with pytest.raises(Refusal, match=rf"{refused}, but .* A: nothing .*{remedy}"):
                clients.open_admin(connection).__enter__()
        else:
            with clients.open_admin(connection):
                pass


def test_no_request_goes_to_servers_that_the_cluster_advertises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "KafkaAdminClient", _AdminOf)
    monkeypatch.setattr(_AdminOf, "clusters", {"a:1": "A", "b:1": "A"}, raising=False)
    monkeypatch.setattr(_AdminOf, "requests", 0, raising=False)
    monkeypatch.setattr(clients, "advertised_addresses", lambda _: ["a:1", "b:1"])
    with clients.open_admin(Connection(("a:1", "b:1"), tls=False)):
        assert _AdminOf.requests == 0


def test_an_address_that_hangs_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_probe, "_LIMIT_S", 0.1)
    monkeypatch.setattr(broker_probe, "_probe", lambda *_: None)
    probed = broker_probe.probe(Connection(("a:1", "b:1"), tls=False), ["a:1", "b:1"])
    assert not probed.answering
    assert set(probed.failures) == {"a:1", "b:1"}


def test_an_internal_error_of_a_probe_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_probe, "_connect", Mock(side_effect=TypeError("ours")))
    with pytest.raises(TypeError, match="ours"):
        broker_probe.probe(Connection(("a:1",), tls=False), ["a:1"])


def test_an_answer_that_is_too_short_is_not_that_of_a_broker() -> None:
    client, other = socket.socketpair()
    with client, other:
        other.sendall(struct.pack(">iih", 6, 1, 0))
        with pytest.raises(ValueError, match="its answer is not Kafka's protocol"):
            broker_probe.request_api_versions(client)


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> AdminSession:
    monkeypatch.setattr(request_errors, "_PAUSE_S", 0.0)
    monkeypatch.setattr(AdminSession, "admin", "admin")
    return AdminSession(Mock())


def test_a_request_is_sent_again_if_the_broker_did_not_answer(session: AdminSession) -> None:
    send = Mock(side_effect=[RequestTimedOutError(), RequestTimedOutError(), 3])
    assert session.request(send, "argument") == 3
    assert send.call_args_list == [(("admin", "argument"),)] * 3


@pytest.mark.parametrize("error", [ClusterAuthorizationFailedError(), KafkaError("security is disabled")])
def test_a_permanent_error_is_raised_at_once(session: AdminSession, error: KafkaError) -> None:
    send = Mock(side_effect=error)
    with pytest.raises(RequestError):
        session.request(send)
    assert send.call_count == 1


def test_a_handshake_with_a_frozen_broker_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_tls, "HANDSHAKE_S", 0.2)
    connection = Connection(bootstrap_servers=("localhost:9093",), tls=True)
    with socket.create_server(("127.0.0.1", 0)) as frozen, socket.create_connection(frozen.getsockname()) as plain:
        plain.setblocking(False)
        channel = tls_context(connection).wrap_socket(plain, server_hostname="localhost", do_handshake_on_connect=False)
        with channel:
            with pytest.raises(ssl.SSLWantReadError):
                channel.do_handshake()
            assert select.select([channel], [], [], 5.0)[0]
            with pytest.raises(OSError, match="EOF"):
                channel.do_handshake()


def test_a_warning_of_the_client_is_not_printed() -> None:
    code = """import logging, topicwarden.kafka.connect.clients
logging.getLogger('kafka.net.selector').warning('slow')"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


class Manager:
    """Knows broker 3 only after an update of the metadata."""

    def __init__(self) -> None:
        self.known = {1}
        self.cluster = SimpleNamespace(request_update=lambda: self.known.add(3))

    def run(self, start: Callable[..., Coroutine[Any, Any, Any]], *arguments: object) -> Any:
        return asyncio.run(start(*arguments))

    async def send(self, request: str, node_id: int) -> str:
        if node_id not in self.known:
            raise UnknownBrokerIdError(node_id)
        return f"{request} from {node_id}"


def test_a_broker_that_started_meanwhile_is_found_by_the_next_attempt() -> None:
    admin = cast("KafkaAdminClient", SimpleNamespace(_manager=Manager()))
    assert send_to_broker(admin, "answer", 1) == "answer from 1"
    with pytest.raises(UnknownBrokerIdError):
        send_to_broker(admin, "answer", 3)
    assert send_to_broker(admin, "answer", 3) == "answer from 3"


PACKAGE = Path(clients.__file__).parents[2]
READER = PACKAGE.parent / "spark-reader" / "src" / "main"
CONNECTION = Connection(("a:9092",), tls=False)


def constructions(names: set[str]) -> set[tuple[str, str]]:
    """Return the modules of the package that call one of ``names``, with the name."""
    return {
        (path.relative_to(PACKAGE).as_posix(), node.func.id)
        for path in PACKAGE.rglob("*.py")
        if re.search("|".join(names), text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    }


def test_one_module_makes_all_clients() -> None:
    names = {"KafkaAdminClient", "KafkaConsumer", "KafkaProducer"}
    assert constructions(names) == {("kafka/connect/clients.py", name) for name in names}


def test_the_consumer_of_the_scan_has_the_settings_of_the_connection() -> None:
    assert CONNECTION.for_java()["allow.auto.create.topics"] == "false"
    created = [path.name for path in READER.rglob("*.java") if "new KafkaConsumer" in path.read_text(encoding="utf-8")]
    assert created == ["RangeReader.java"]


@pytest.mark.parametrize("client", ["consumer", "producer"])
def test_clients_of_records_create_no_topics(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[dict[str, object]] = []
    monkeypatch.setattr(clients, f"Kafka{client.capitalize()}", lambda **settings: found.append(settings))
    getattr(clients, f"new_{client}")(CONNECTION, linger_ms=5)
    assert (found[0]["allow_auto_create_topics"], found[0]["linger_ms"]) == (False, 5)


STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ({"authorizer.class.name": ""}, AuthorizerSettings("", frozenset(), open_without_acl=False)),
        ({"authorizer.class.name": STANDARD}, AuthorizerSettings(STANDARD, frozenset(), open_without_acl=False)),
        (
            {"authorizer.class.name": STANDARD, "super.users": None, "allow.everyone.if.no.acl.found": None},
            AuthorizerSettings(STANDARD, None, None),
        ),
        (
            {"authorizer.class.name": STANDARD, "super.users": "User:CN=a,OU=b; User:c", "other": "x"},
            AuthorizerSettings(STANDARD, frozenset({"User:CN=a,OU=b", "User:c"}), open_without_acl=False),
        ),
        (
            {"authorizer.class.name": STANDARD, "allow.everyone.if.no.acl.found": "TRUE"},
            AuthorizerSettings(STANDARD, frozenset(), open_without_acl=True),
        ),
        ({"authorizer.class.name": "com.example.Ours"}, AuthorizerSettings("com.example.Ours", None, None)),
        ({}, AuthorizerSettings(None, None, None)),
    ],
)
def test_a_setting_has_its_default_only_if_the_broker_shows_that_it_is_not_set(
    shown: dict[str, str | None], expected: AuthorizerSettings
) -> None:
    assert authorizer_settings(shown) == expected


def test_an_acl_of_an_unknown_type_or_operation_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def resource(kind: int, operation: int) -> Any:
        acl = SimpleNamespace(principal="User:a", host="*", operation=operation, permission_type=3)
        return SimpleNamespace(resource_type=kind, resource_name="r", pattern_type=3, acls=[acl])

    answer = SimpleNamespace(error_code=0, resources=[resource(5, 15), resource(5, 99), resource(99, 3)])
    monkeypatch.setattr(authorizer_reads, "send_to_broker", lambda *_: answer)
    known = Acl(
        "User:a",
        "*",
        Operation.TWO_PHASE_COMMIT,
        PermissionType.ALLOW,
        ResourceType.TRANSACTIONAL_ID,
        "r",
        PatternType.LITERAL,
    )
    admin: Any = None
    assert list_acls(admin) == AclListing(frozenset({known}), unknown=2)
