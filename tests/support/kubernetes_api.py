"""A stand-in for the API server of Kubernetes: it accepts and returns objects, and starts no pod."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass
class KubernetesApi:
    """The objects that clients have created, by their path."""

    url: str = ""
    objects: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in list(self.objects.values()) if one.get("kind") == kind]

    def created(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        metadata = body.setdefault("metadata", {})
        metadata.setdefault("uid", f"uid-{len(self.objects)}")
        metadata.setdefault("resourceVersion", "1")
        metadata.setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
        name = metadata["name"]
        self.objects[path if path.endswith(f"/{name}") else f"{path}/{name}"] = body
        return body


@contextmanager
def kubernetes_api() -> Iterator[KubernetesApi]:
    api = KubernetesApi()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Log nothing."""

        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if path in api.objects:
                return self._answer(200, api.objects[path])
            if path.rsplit("/", 1)[-1] in ("pods", "configmaps", "services", "persistentvolumeclaims"):
                return self._answer(200, {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": []})
            return self._answer(404, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404})

        def _write(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            self._answer(201, api.created(urlsplit(self.path).path, body))

        do_POST = do_PUT = do_PATCH = _write  # noqa: N815 -- the names that http.server calls

        def do_DELETE(self) -> None:
            self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

        def _answer(self, status: int, body: dict[str, Any]) -> None:
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
