"""A receiver of notifications for machines without Prometheus: it only remembers what is open."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from topicwarden.extensions.sandbox.sandbox_state import HOST

_MOST_BYTES: Final = 16 * 1024**2
_TIMEOUT_S: Final = 10.0


class WebhookReceiver(ThreadingHTTPServer):
    """Remembers the changes of notifications, on a free port of the loopback address."""

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.url = f"http://{HOST}:{self.server_address[1]}"
        self._changes: dict[tuple[str, str], dict[str, Any]] = {}

    def take(self, notification: dict[str, Any]) -> None:
        """Remember each change, instead of an earlier one of the same check on the same topic."""
        for change in notification["changes"]:
            known = change | {"report_url": notification["report_url"]}
            self._changes[change["topic"], change["check"]] = known

    def failing(self, topic: str, check: str) -> dict[str, Any] | None:
        """Return the change after which ``check`` fails on ``topic``; None if it does not fail now."""
        change = self._changes.get((topic, check))
        return change if change and change["change"] == "fail" else None


class _Handler(BaseHTTPRequestHandler):
    server: WebhookReceiver
    timeout = _TIMEOUT_S

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        taken = size <= _MOST_BYTES
        if taken:
            self.server.take(json.loads(self.rfile.read(size)))
        self.send_response(HTTPStatus.OK if taken else HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def webhook_receiver() -> Iterator[WebhookReceiver]:
    """Run a receiver during the block."""
    with WebhookReceiver() as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.05,), name="webhook-receiver", daemon=True).start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
