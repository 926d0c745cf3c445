"""Test that each way in which a connection can fail has its own line, with the cause and the remedy, within 15 s."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from tests.support import iam
from tests.support.secured import PASSWORD, USER, SecuredBroker, pem
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.remedy_settings import CLIENT_PROPERTIES
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.problem import Refusal
from topicwarden.specs.stacks.connection_settings import AwsSettings


def tls(broker: SecuredBroker, listener: str) -> Connection:
    return Connection((broker.addresses[listener],), ca_cert=broker.ca_pem)


def plain(broker: SecuredBroker, listener: str) -> Connection:
    return Connection((broker.addresses[listener],), tls=False)


def sasl(broker: SecuredBroker, mechanism: str, password: str) -> Connection:
    return replace(plain(broker, "SASL"), sasl_mechanism=mechanism, username=USER, password=password)


def oauth(broker: SecuredBroker, token_url: str, password: str = PASSWORD) -> Connection:
    servers = (broker.addresses["OAUTH"],)
    return replace(sasl(broker, "OAUTHBEARER", password), bootstrap_servers=servers, token_url=token_url)


def signed(broker: SecuredBroker, secret_key: str, region: str = iam.REGION) -> Connection:
    aws = AwsSettings(region, access_key=iam.ACCESS_KEY, secret_key=secret_key, session_token=iam.SESSION_TOKEN)
    return replace(tls(broker, "IAM"), sasl_mechanism="OAUTHBEARER", aws=aws)


def of_another_ca(broker: SecuredBroker) -> Connection:
    certificate, key = pem(trustme.CA().issue_cert("client.example.com"))
    return replace(tls(broker, "MUTUAL"), client_cert=certificate, client_key=key)


def expired_client(broker: SecuredBroker) -> Connection:
    past = datetime.now(UTC) - timedelta(days=2)
    certificate, key = pem(broker.ca.issue_cert("client.example.com", not_before=past, not_after=past))
    return replace(tls(broker, "MUTUAL"), client_cert=certificate, client_key=key)


FAILURES: dict[str, tuple[Callable[[SecuredBroker], Connection], str]] = {
    "unknown CA": (
        lambda broker: replace(tls(broker, "TLS"), ca_cert=trustme.CA().cert_pem.bytes().decode()),
        "the broker's certificate is of an unknown CA (OU=Testing CA",
    ),
    "other name": (
        lambda broker: tls(broker, "OTHERNAME"),
        "the broker's certificate is valid for kafka.example.com, not for 127.0.0.1",
    ),
    "expired": (lambda broker: tls(broker, "EXPIRED"), "the broker's certificate expired at 20"),
    "no client certificate": (lambda broker: tls(broker, "MUTUAL"), "the broker asks for a client certificate"),
    "client certificate of another CA": (of_another_ca, "the broker refuses the client certificate"),
    "expired client certificate": (expired_client, "the broker refuses the client certificate"),
    "TLS to plaintext": (lambda broker: tls(broker, "PLAINTEXT"), "the listener speaks no TLS"),
    "plaintext to TLS": (lambda broker: plain(broker, "TLS"), "the listener speaks TLS; set kafka:tlsEnabled: true"),
    "no SASL": (
        lambda broker: plain(broker, "SASL"),
        "its listener needs SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512)",
    ),
    "SASL without need": (
        lambda broker: replace(sasl(broker, "PLAIN", PASSWORD), bootstrap_servers=(broker.addresses["PLAINTEXT"],)),
        "its listener has no SASL",
    ),
    "wrong password": (
        lambda broker: sasl(broker, "PLAIN", "wrong"),
        "wrong user name or password (PLAIN, user 'alice')",
    ),
    "wrong SCRAM password": (
        lambda broker: sasl(broker, "SCRAM-SHA-256", "wrong"),
        "wrong user name or password (SCRAM-SHA-256, user 'alice')",
    ),
    "wrong secret": (
        lambda broker: oauth(broker, broker.tokens.token_url, "wrong"),
        "/token answers HTTP 401 Unauthorized; correct kafka:saslUsername, kafka:saslPassword or kafka:saslOauthScopes",
    ),
    "failing token endpoint": (
        lambda broker: oauth(broker, f"{broker.tokens.url}/failing"),
        "/failing answers HTTP 503 Service Unavailable; run the command again later",
    ),
    "other path of the token endpoint": (
        lambda broker: oauth(broker, f"{broker.tokens.url}/missing"),
        "/missing answers HTTP 404 Not Found; correct kafka:saslTokenUrl",
    ),
    "no token": (
        lambda broker: oauth(broker, "http://127.0.0.1:1/token"),
        "the token endpoint http://127.0.0.1:1/token does not answer",
    ),
    "refused token": (
        lambda broker: oauth(broker, broker.tokens.other_url),
        '/other is refused: {"status":"invalid_token"}; look at its audience, issuer and scope',
    ),
    "wrong secret key": (
        lambda broker: signed(broker, "wrong"),
        "the signed token (access key) is refused: ",
    ),
    "wrong region": (
        lambda broker: signed(broker, iam.SECRET_KEY, "us-east-1"),
        "allow kafka-cluster:Connect in its policy, and look at kafka:saslAwsRegion",
    ),
    "advertised address": (
        lambda broker: plain(broker, "FARAWAY"),
        "advertise addresses that do not answer: 127.0.0.1:",
    ),
    "controller of KRaft": (
        lambda broker: Connection((broker.controller,), tls=False),
        "this is the listener of a KRaft controller, which serves no clients; use the port of a broker",
    ),
    "nothing listens": (lambda _: Connection(("127.0.0.1:1",), tls=False), "127.0.0.1:1: nothing listens on this port"),
    "unknown host": (
        lambda _: Connection(("kafka.invalid:9092",), tls=False),
        "kafka.invalid:9092: the host name cannot be resolved",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_each_failure_has_its_own_line(broker: SecuredBroker, failure: str) -> None:
    connection, line = FAILURES[failure]
    assert line in refusal(connection(broker))


def test_without_a_stack_the_remedies_are_settings_of_client_properties(broker: SecuredBroker) -> None:
    lines = [refusal(replace(make(broker), names=CLIENT_PROPERTIES)) for make, _ in FAILURES.values()]
    assert [line for line in lines if "kafka:" in line] == []
    named = ("security.protocol=SSL", "security.protocol=PLAINTEXT", "ssl.truststore.location", "ssl.keystore.location")
    for name in (*named, "sasl.mechanism and sasl.jaas.config", "sasl.oauthbearer.token.endpoint.url", "AWS_REGION"):
        assert any(name in line for line in lines), name


def test_each_address_is_reported_with_its_reason(broker: SecuredBroker) -> None:
    servers = ("127.0.0.1:1", "kafka.invalid:9092", broker.addresses["TLS"])
    output = refusal(Connection(servers, tls=False))
    assert output.count("; ") >= 2
    assert all(address in output for address in servers)


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (None, "accepts connections, but does not answer within 5 s"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is no Kafka broker"),
        (b"", "this is no Kafka broker, or it ends connections at once"),
    ],
)
@pytest.mark.parametrize("encrypted", [False, True])
def test_an_address_that_is_no_broker_is_named(answer: bytes | None, line: str, encrypted: bool) -> None:
    with listening(answer) as address:
        output = refusal(Connection((address,), tls=encrypted))
    assert (line in output) if answer is None or not encrypted else any(words in output for words in _NO_TLS)


def test_a_broker_that_answers_is_enough(broker: SecuredBroker) -> None:
    with listening(None) as silent:
        servers = (silent, "127.0.0.1:1", broker.addresses["PLAINTEXT"])
        with open_cluster(Connection(servers, tls=False)) as cluster:
            assert cluster.snapshot().cluster_id


_NO_TLS = ("the TLS handshake failed", "the listener speaks no TLS, and is no Kafka broker")


@contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """Answer every connection with these bytes and its end; None never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept: list[socket.socket] = []

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    kept.append(client)
                    if answer is not None:
                        client.recv(1_000)
                        client.sendall(answer)
                        client.close()

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        for client in kept:
            client.close()


def refusal(connection: Connection) -> str:
    """Return why the connection is refused; fail after 15 seconds."""
    output: list[str] = []

    def connect() -> None:
        with pytest.raises(Refusal) as refused, open_cluster(connection) as cluster:
            cluster.snapshot()
        output.append(str(refused.value))

    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(15)
    assert output, "no answer within 15 seconds"
    assert "\n" not in output[0]
    assert PASSWORD not in output[0]
    return output[0]
