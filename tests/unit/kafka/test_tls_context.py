"""The deadline of a TLS handshake."""

from __future__ import annotations

import select
import socket
import ssl

import pytest

from topicwarden.kafka.connect import tls_context as module
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.tls_context import tls_context


def test_a_handshake_with_a_frozen_broker_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HANDSHAKE_S", 0.2)
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
