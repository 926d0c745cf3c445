"""Test the faults of the proxy with a server that sends back what it gets."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.support.byte_proxy import HOST, ByteProxy, byte_proxy
from topicwarden.sandbox.ports import free_port


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with suppress(ConnectionResetError):  # the proxy cuts connections
            while data := self.request.recv(65_536):
                self.request.sendall(data)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture
def port() -> int:
    return free_port(24_500)


@pytest.fixture
def proxy(port: int) -> Iterator[ByteProxy]:
    with _Server((HOST, 0), _Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with byte_proxy({port: server.server_address[1]}) as proxy:
            yield proxy
        server.shutdown()


def echoed(client: socket.socket, size: int = 5) -> bytes:
    client.sendall(b"x" * size)
    received = b""
    while len(received) < size and (data := client.recv(65_536)):
        received += data
    return received


def test_the_proxy_forwards_all_bytes(proxy: ByteProxy, port: int) -> None:
    proxy.latency_s = 0.01
    with socket.create_connection((HOST, port), 10) as client:
        assert echoed(client, 300_000) == b"x" * 300_000


def test_the_proxy_cuts_connections(proxy: ByteProxy, port: int) -> None:
    with socket.create_connection((HOST, port), 10) as client:
        assert echoed(client)
        assert proxy.cut() == 1
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with socket.create_connection((HOST, port), 10) as client:
        assert echoed(client), "new connections are accepted"


def test_the_proxy_cuts_after_some_bytes(proxy: ByteProxy, port: int) -> None:
    proxy.cut_after = 5
    with socket.create_connection((HOST, port), 10) as client:
        client.sendall(b"x" * 5)
        with pytest.raises(ConnectionResetError):
            while client.recv(100):
                pass


def test_the_proxy_is_silent_until_it_is_healed(proxy: ByteProxy, port: int) -> None:
    with socket.create_connection((HOST, port), 0.3) as client:
        assert echoed(client)
        proxy.silent = True
        client.sendall(b"lost")
        with pytest.raises(TimeoutError):
            client.recv(1)
        proxy.heal()
        client.settimeout(10)
        with pytest.raises(ConnectionResetError):
            while client.recv(10):
                pass
    with socket.create_connection((HOST, port), 10) as client:
        assert echoed(client)
