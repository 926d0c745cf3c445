"""A stand-in for a secured Schema Registry: TLS and authentication in front of a real registry."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import urlopen

import trustme


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
