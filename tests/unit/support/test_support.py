"""Test the helpers of tests: cases in YAML files, and the proxy of bytes."""

from __future__ import annotations

import re
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support.byte_proxy import HOST, ByteProxy, byte_proxy
from tests.support.cases import cases, find_case
from topicwarden.extensions.sandbox.ports import free_port

# Test that cases are what their YAML says, that none is lost, and that tests share helpers only outside of tests.

TEXT = """\
bad:
  all:
    files:
      a/b.yaml: "\\
        x: 1\\r\\n"
      c.yaml: |
        é
    links: {d.yaml: c.yaml}
    encodings: {c.yaml: latin-1}
    expected: |
      one
"""


def test_a_case_is_written_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text(TEXT, encoding="utf-8")
    case = find_case(tmp_path, "bad", "all")
    tree = case.write(tmp_path / "tree")
    assert (tree / "a/b.yaml").read_bytes() == b"x: 1\r\n"
    assert (tree / "d.yaml").read_bytes() == b"\xe9\n"
    assert (tree / "d.yaml").readlink() == Path("c.yaml")
    assert case.expected == "one\n"


def test_a_name_that_is_used_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("good:\n  a: {files: {}}\n  a: {files: {}}\n")
    with pytest.raises(yaml.YAMLError, match="written twice"):
        cases(tmp_path, "good")
    (tmp_path / "one.yaml").write_text("good:\n  a: {files: {}}\n")
    (tmp_path / "two.yaml").write_text("good:\n  a: {files: {}}\n")
    with pytest.raises(AssertionError, match="a second good case with the name a"):
        cases(tmp_path, "good")


def test_no_module_imports_from_a_test_module() -> None:
    """Helpers that several modules use are in tests/support, in a conftest or in a module of their folder."""
    imports = re.compile(r"^\s*(?:from|import) tests\.[\w.]*\btest_", re.MULTILINE)
    files = (REPOSITORY / "tests").rglob("*.py")
    assert [path for path in files if imports.search(path.read_text(encoding="utf-8"))] == []


# The faults of the proxy with a server that sends back what it gets.


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
