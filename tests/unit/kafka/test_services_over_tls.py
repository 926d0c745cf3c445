"""Test that a cluster of each service is reached over TLS, as its profile is a part of the connection."""

from __future__ import annotations

import socketserver
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
import trustme

from topicwarden.kafka.connect.broker_probe import Probed, probe
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.sasl import sasl_settings
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kafka_facts.services.profile import ServiceProfile

CA = trustme.CA()
_API_VERSIONS = struct.pack(">iihihhh", 16, 1, 0, 1, 3, 0, 12)
"""The answer of a broker that has Metadata."""


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    """The address of a listener with TLS that answers ApiVersions."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    CA.issue_cert("127.0.0.1").configure_cert(context)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError), context.wrap_socket(self.request, server_side=True) as channel:
                channel.recv(1024)
                channel.sendall(_API_VERSIONS)

    class Listener(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Listener(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def connection_to(address: str, service: ServiceProfile) -> Connection:
    return Connection(
        (address,),
        ca_cert=CA.cert_pem.bytes().decode(),
        sasl_mechanism="OAUTHBEARER",
        username="client",
        password="secret",
        token_url="https://sso.example.com/token",
        profile=service,
    )


@pytest.mark.parametrize("service", PROFILES.values(), ids=PROFILES)
def test_a_broker_of_each_service_answers_over_tls(broker: str, service: ServiceProfile) -> None:
    assert probe(connection_to(broker, service), [broker]) == Probed((broker,), {})


@pytest.mark.parametrize("service", PROFILES.values(), ids=PROFILES)
def test_all_clients_of_a_service_share_their_tokens(service: ServiceProfile) -> None:
    first, second = (sasl_settings(connection_to("broker:9093", service)) for _ in range(2))
    assert first["sasl_oauth_token_provider"] is second["sasl_oauth_token_provider"]
