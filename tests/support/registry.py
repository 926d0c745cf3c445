"""Run a real Schema Registry, also behind TLS and authentication: Apicurio, which implements Confluent's REST API."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import trustme

from topicwarden.extensions.sandbox.registry_server import RegistryServer
from topicwarden.model.project import Project
from topicwarden.toolchain import apicurio
from topicwarden.toolchain.prerequisites import require_registry_java

REPOSITORY = Path(__file__).parents[2]


_SCHEMAS = "application/vnd.schemaregistry.v1+json"


@contextmanager
def running_registry(folder: Path) -> Iterator[str]:
    """Run Apicurio with its files in ``folder`` while the block runs; yield the URL of its Confluent-compatible API.

    Raises Refusal if this machine has no Java that it can use.
    """
    server = RegistryServer(folder)
    try:
        yield server.up(require_registry_java(), apicurio.fetch(Project(REPOSITORY).tools_cache, print), print)
    finally:
        server.down(remove=True, say=print)


def register_schema(url: str, subject: str, schema: str, kind: str, references: Sequence[str] = ()) -> int:
    """Register the text of a schema of the type ``kind``, such as AVRO; return its id. Raises HTTPError if refused.

    It refers to the first version of each of ``references``, by the name of the subject.
    """
    named = [{"name": name, "subject": name, "version": 1} for name in references]
    body = json.dumps({"schema": schema, "schemaType": kind, "references": named}).encode()
    request = Request(f"{url}/subjects/{subject}/versions", body, {"Content-Type": _SCHEMAS})
    with urlopen(request, timeout=60) as answer:
        return int(json.load(answer)["id"])


@contextmanager
def registry_gate(url: str, ca: trustme.CA, *, token: str | None = None, password: str | None = None) -> Iterator[str]:
    """Yield an HTTPS address of the registry at ``url``, a stand-in for a registry with authentication.

    Clients need ``token``, or the user "registrar" with ``password``, or, without both, a certificate of ``ca``.
    """
    expected = f"Bearer {token}" if token else None
    if password:
        expected = f"Basic {base64.b64encode(f'registrar:{password}'.encode()).decode()}"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
            if expected and self.headers.get("Authorization") != expected:
                self.answer(401, b'{"error_code": 401, "message": "Unauthorized"}')
                return
            headers = {"Content-Type": self.headers.get("Content-Type", "application/json")}
            try:
                with urlopen(Request(url + self.path, body, headers, method=self.command)) as response:
                    self.answer(response.status, response.read())
            except HTTPError as error:
                self.answer(error.code, error.read())

        do_GET = do_POST = do_PUT = do_DELETE = forward  # noqa: N815

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ca.issue_cert("127.0.0.1").configure_cert(context)
    if expected is None:
        ca.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
