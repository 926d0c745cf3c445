"""Servers on loopback: one that answers with given bytes, also invalid or slow ones, and those of data catalogues."""

from __future__ import annotations

import json
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource


@dataclass(frozen=True)
class Request:
    """A request as it arrived. Names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """A running server: its URL and the requests so far. After ``stop`` is set, slow answers end."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)


Answer: TypeAlias = bytes | Callable[[Request], bytes | None] | None
"""The bytes of an answer, b"" for a closed connection, None for no answer while the client waits."""
SLOW: Final = b"(one byte after the other)"
"""At the end of an answer: the rest of it comes in single bytes, without an end."""


def http(
    body: object = b"", status: str = "200 OK", *headers: str, kind: str = "application/json", length: int = -1
) -> bytes:
    """Return an answer of HTTP; ``body`` is JSON unless it is bytes, and ``length`` announces another length."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    size = len(data) if length < 0 else length
    lines = (f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {size}", *headers)
    return "\r\n".join((*lines, "", "")).encode() + data


def failing(status: str, code: int, message: str, *headers: str) -> bytes:
    """Return an error as Confluent's API has it."""
    return http({"error_code": code, "message": message}, status, *headers)


@contextmanager
def answering(answer: Answer, context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server, with TLS if there is a ``context``, that gives ``answer`` to every request of a connection."""
    running = Server()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                while self.answered():
                    pass

        def answered(self) -> bool:
            method, path, _ = self.rfile.readline().decode().split(" ")
            headers = {}
            while line := self.rfile.readline().strip().decode():
                name, _, value = line.partition(": ")
                headers[name.lower()] = value
            request = Request(method, path, headers, self.rfile.read(int(headers.get("content-length", 0))))
            running.requests.append(request)
            data = answer(request) if callable(answer) else answer
            if data is None:
                running.stop.wait()
            elif data.endswith(SLOW):
                self.wfile.write(data.removesuffix(SLOW))
                while not running.stop.wait(0.05):
                    self.wfile.write(b"x")
            else:
                self.wfile.write(data)
                return b"Content-Length" in data and not data.endswith(b"(end)")
            return False

    class ThreadingServer(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

        def get_request(self) -> tuple[Any, Any]:
            connection, address = super().get_request()
            return (context.wrap_socket(connection, server_side=True) if context else connection), address

        def handle_error(self, *_: object) -> None:
            """Print nothing: clients end connections."""

    with ThreadingServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        running.url = f"http{'s' if context else ''}://127.0.0.1:{server.server_address[1]}"
        yield running
        running.stop.set()
        server.shutdown()


SCHEMAS: Final = Path(__file__).parents[1] / "unit" / "catalogues"
_ROOT: Final = "https://openlineage.io/spec"


@cache
def _validator(schema_url: str) -> Draft202012Validator:
    documents = [json.loads(file.read_text()) for file in (SCHEMAS / "openlineage").glob("*.json")]
    registry: Registry[Any] = Registry().with_resources(
        (document["$id"], Resource.from_contents(document)) for document in documents
    )
    core = next(document for document in documents if document["$id"] == f"{_ROOT}/2-0-2/OpenLineage.json")
    # The schema of owners refers to a version whose definition of a dataset's facet is the same.
    registry = registry.with_resource(f"{_ROOT}/1-0-3/OpenLineage.json", Resource.from_contents(core))
    return Draft202012Validator({"$ref": schema_url}, registry=registry, format_checker=FormatChecker())


def openlineage_errors(event: dict[str, Any]) -> list[str]:
    """Return the errors of an event and of each of its facets, by the schema that each one names."""
    named = [(event["schemaURL"], event)]
    holders = [event["run"]["facets"], event["job"]["facets"]]
    for dataset in event["inputs"]:
        holders += [dataset["facets"], dataset["inputFacets"]]
    named += [(facet["_schemaURL"], facet) for holder in holders for facet in holder.values()]
    return [error.message for url, content in named for error in _validator(url).iter_errors(content)]


@dataclass
class OpenLineageStandIn:
    """A stand-in for a server with OpenLineage's HTTP interface: the valid events so far, and errors of others."""

    server: Server
    events: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    answer: Callable[[Request], bytes | None] = lambda request: None


@contextmanager
def openlineage_stand_in() -> Iterator[OpenLineageStandIn]:
    """Run a stand-in that validates each event by the published schemas."""

    def respond(request: Request) -> bytes:
        if (other := stand_in.answer(request)) is not None:
            return other
        problems = openlineage_errors(request.json)
        if (request.method, request.path) != ("POST", "/api/v1/lineage"):
            problems.append(f"{request.method} {request.path}")
        stand_in.errors += problems
        if problems:
            return http({"errors": problems}, "422 Unprocessable Entity")
        stand_in.events.append(request.json)
        return http(b"", "201 Created")

    with answering(respond) as server:
        stand_in = OpenLineageStandIn(server)
        yield stand_in
