"""Run a real Schema Registry, also behind TLS and authentication.

Writes records in Confluent's wire format with correct and wrong schema ids.
"""

from __future__ import annotations

import json
import ssl
import struct
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import trustme
from kafka.admin import NewTopic

from tests.broker.contents.records import writing
from tests.support.apicurio import RUNNER
from topicwarden.kafka.write.config_admin import connected
from topicwarden.sandbox import ports

TOPICS = ("registry.avro", "registry.json", "registry.protobuf")
_SCHEMAS = Path(__file__).parent / "project" / "topics" / "contents" / "schemas"
_TIMEOUT_S = 120


@contextmanager
def running(java: Path, folder: Path, log: Path) -> Iterator[str]:
    """Run Apicurio with in-memory storage while the block runs; yield the URL of its Confluent-compatible API."""
    port = ports.free_port(ports.BROKERS_FROM + 300)
    command = [java, "-Xmx512m", f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1", "-jar", RUNNER]
    with log.open("wb") as output:
        server = subprocess.Popen([str(part) for part in command], cwd=folder, stdout=output, stderr=output)
    try:
        url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        until = time.monotonic() + _TIMEOUT_S
        while not _answers(url):
            assert server.poll() is None and time.monotonic() < until, log.read_text()[-2000:]
            time.sleep(0.1)
        yield url
    finally:
        server.terminate()
        server.wait(30)


def fill(servers: Sequence[str], url: str) -> None:
    """Write to each topic a valid record, a tombstone, and one record for each possible fault."""
    with connected(servers) as admin:
        admin.create_topics([NewTopic(name, 1, 1) for name in TOPICS])
    avro = _register(url, "registry.avro-value", (_SCHEMAS / "payment.avsc").read_text(), "AVRO")
    other = _register(url, "elsewhere-value", '{"type": "record", "name": "Other", "fields": []}', "AVRO")
    shape = _register(url, "registry.json-value", (_SCHEMAS / "payment.json").read_text(), "JSON")
    proto = _register(url, "registry.protobuf-value", (_SCHEMAS / "payment.proto").read_text(), "PROTOBUF")
    payment = b"\x02" + struct.pack("<d", 1.5) + b"\x00"
    message = b"\x08\x07\x11" + struct.pack("<d", 1.5)
    with writing(servers) as producer:
        for value in (
            *(wire(avro, payment), None),
            wire(avro, payment[:-3]),  # 2: cut off
            wire(999_999, payment),  # 3: an unknown id
            wire(other, b""),  # 4: a schema of another subject
            wire(shape, payment),  # 5: a schema of another format
            b"{}",  # 6: not the wire format
        ):
            producer.produce("registry.avro", value)
        for value in (wire(shape, b'{"id": 1, "amount": 2}'), None, wire(shape, b'{"id": "1", "amount": 2}')):
            producer.produce("registry.json", value)
        for value in (
            *(wire(proto, b"\x02\x02" + message), None),  # the message index path [1], zigzag-encoded
            wire(proto, b"\x02\x02" + message[:-1]),  # 2: cut off
            wire(proto, b"\x02\x0a" + message),  # 3: message index 5, which does not exist
        ):
            producer.produce("registry.protobuf", value)


def wire(schema_id: int, data: bytes) -> bytes:
    return b"\0" + struct.pack(">I", schema_id) + data


def _register(url: str, subject: str, schema: str, kind: str) -> int:
    body = json.dumps({"schema": schema, "schemaType": kind}).encode()
    headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
    request = urllib.request.Request(f"{url}/subjects/{subject}/versions", body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        reported: dict[str, Any] = json.load(answer)
    return int(reported["id"])


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def registry_gate(url: str, ca: trustme.CA, *, token: str | None) -> Iterator[str]:
    """Yield an HTTPS address of the registry at ``url``, for clients with ``token``, or a certificate of ``ca``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if token and self.headers.get("Authorization") != f"Bearer {token}":
                self.answer(401, b"{}")
                return
            try:
                with urlopen(url + self.path) as response:
                    self.answer(response.status, response.read())
            except HTTPError as error:
                self.answer(error.code, error.read())

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    if token is None:
        ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
