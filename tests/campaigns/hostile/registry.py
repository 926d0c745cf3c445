"""A stand-in for a Schema Registry that answers nonsense, slowly, or not at all."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

SUBJECT: Final = "registry-value"
_VERSIONS: Final = json.dumps([{"subject": SUBJECT, "version": 1}])


def _http(body: bytes | str, status: str = "200 OK", kind: str = "application/json", *, length: int = -1) -> bytes:
    data = body.encode() if isinstance(body, str) else body
    size = len(data) if length < 0 else length
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n\r\n".encode() + data


def _schema(text: str, *references: str) -> str:
    listed = [{"name": name, "subject": name, "version": 1} for name in references]
    return json.dumps({"schema": text, "references": listed})


def _answering(schema: str, others: str | None = None) -> Callable[[str], bytes]:
    """Answer with ``schema`` for an id, with ``others`` for a reference."""

    def answer(path: str) -> bytes:
        if path.endswith("/versions"):
            return _http(_VERSIONS)
        return _http(schema if "/schemas/ids/" in path else others or schema)

    return answer


_DEEP: Final = '{"type":"array","items":' * 100_000 + '"int"' + "}" * 100_000
_NAMED: Final = '{"type":"record","name":"N","fields":[{"name":"n","type":"N"}]}'

ANSWERS: Final[dict[str, tuple[Callable[[str], bytes] | None, str]]] = {
    "HTML": (lambda _: _http("<html><script>alert(1)</script>", kind="text/html"), "is not JSON"),
    "HTML as 404": (lambda _: _http("<html>no</html>", "404 Not Found", "text/html"), "answered 404"),
    "cut JSON": (lambda _: _http('{"schema": "'), "is not JSON"),
    "fewer bytes than announced": (lambda _: _http("{}", length=500), "cannot be reached"),
    "no HTTP": (lambda _: b"SSH-2.0-OpenSSH_9.6\r\n", "cannot be reached"),
    "10 MB": (lambda _: _http(_schema("x" * 10_000_000)), "larger than"),
    "a redirect": (
        lambda _: _http("", "302 Found\r\nLocation: http://127.0.0.1:1/schemas/ids/1"),
        "answered 302",
    ),
    "a wrong content type": (lambda _: _http("\x00\x01\x02", kind="image/png"), "is not JSON"),
    "an empty object": (lambda _: _http("{}"), "unknown form"),
    "a list": (lambda _: _http("[]"), "unknown form"),
    "a number as the schema": (lambda _: _http('{"schema": 1}'), "unknown form"),
    "versions without subjects": (
        lambda path: _http("[{}]" if path.endswith("/versions") else _schema('"int"')),
        "unknown form",
    ),
    "a server error": (lambda _: _http("{}", "503 Unavailable"), "answered 503"),
    "JSON of 100,000 levels": (lambda _: _http("[" * 100_000), "is not JSON"),
    "a schema of 100,000 levels": (_answering(_schema(_DEEP)), "cannot be used"),
    "a schema without an end": (_answering(_schema(_NAMED)), ""),
    "references in a cycle": (_answering(_schema('"a"', "a"), _schema('"a"', "a")), "form a cycle"),
    "1 byte a second": (None, "did not answer within"),
    "silence": (None, "did not answer within"),
}
"""Each answer, and a part of the reason that the audit must give; no reason if records can be judged."""


@contextmanager
def answering(kind: str) -> Iterator[str]:
    """Yield the URL of a registry that answers every request in the way ``kind``."""
    answer, stopped = ANSWERS[kind][0], threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                path = self.rfile.readline().decode().split(" ")[1]
                while self.rfile.readline().strip():
                    pass
                if answer is not None:
                    self.wfile.write(answer(path))
                elif kind == "silence":
                    stopped.wait()
                else:
                    self.wfile.write(_http("", length=1_000))
                    while not stopped.wait(1):
                        self.wfile.write(b"x")

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Print nothing: clients end connections."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        stopped.set()
        server.shutdown()
