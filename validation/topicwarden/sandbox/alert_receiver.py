"""A receiver of alerts for machines without Prometheus: it takes what an Alertmanager takes, and only remembers it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from topicwarden.sandbox.sandbox_state import HOST

_MOST_BYTES: Final = 16 * 1024**2
_TIMEOUT_S: Final = 10.0


class AlertReceiver(ThreadingHTTPServer):
    """Remembers the alerts that ``POST /api/v2/alerts`` brings, on a free port of the loopback address."""

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.url = f"http://{HOST}:{self.server_address[1]}"
        self._alerts: dict[str, dict[str, Any]] = {}

    def take(self, alerts: list[dict[str, Any]]) -> None:
        """Remember each alert, instead of an earlier one with the same labels."""
        for alert in alerts:
            self._alerts[json.dumps(alert["labels"], sort_keys=True)] = alert

    def firing(self, labels: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the alert with ``labels`` that fires now; None if there is none."""
        now = datetime.now(UTC)
        return next(
            (
                alert
                for alert in list(self._alerts.values())
                if labels.items() <= alert["labels"].items() and datetime.fromisoformat(alert["endsAt"]) > now
            ),
            None,
        )


class _Handler(BaseHTTPRequestHandler):
    server: AlertReceiver
    timeout = _TIMEOUT_S

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        taken = self.path == "/api/v2/alerts" and size <= _MOST_BYTES
        if taken:
            self.server.take(json.loads(self.rfile.read(size)))
        self.send_response(HTTPStatus.OK if taken else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def alert_receiver() -> Iterator[AlertReceiver]:
    """Run a receiver during the block."""
    with AlertReceiver() as receiver:
        threading.Thread(target=receiver.serve_forever, args=(0.05,), name="alert-receiver", daemon=True).start()
        try:
            yield receiver
        finally:
            receiver.shutdown()
