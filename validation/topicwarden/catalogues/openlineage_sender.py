"""Deliver OpenLineage events: to a server, or to a file with one event per line."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any, Final

from topicwarden.catalogues.catalogue_client import CatalogueClient
from topicwarden.catalogues.catalogue_target import CatalogueTarget
from topicwarden.catalogues.openlineage_events import run_events
from topicwarden.deliveries.delivery_error import DeliveryError
from topicwarden.deliveries.delivery_thread import DeliverySender
from topicwarden.model.finding import AuditReport

PATH: Final = "/api/v1/lineage"
"""The endpoint of OpenLineage's HTTP interface, below the URL of the catalogue."""


class OpenLineageServer(DeliverySender):
    """A server with OpenLineage's HTTP interface. A server recognizes an event that arrives twice by its run."""

    def __init__(self, target: CatalogueTarget) -> None:
        self._client = CatalogueClient(target.settings)

    def deliver(self, content: bytes) -> None:
        """Send each event, in order. Raises DeliveryError."""
        for event in _events(content):
            self._client.post(PATH, event)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class OpenLineageFile(DeliverySender):
    """A file to which events are appended, for a program that reads new lines."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def deliver(self, content: bytes) -> None:
        """Append the events in one step. Raises DeliveryError."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            # Without O_NONBLOCK, a named pipe would block until a program reads it.
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o644)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise OSError(errno.EINVAL, "expected a regular file, got a device, pipe or socket")
                size = os.fstat(descriptor).st_size
                try:
                    _write(descriptor, content)
                except OSError:
                    os.ftruncate(descriptor, size)  # no half line
                    raise
            finally:
                os.close(descriptor)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DeliveryError(f"cannot write {self._file}: {reason}") from None


def event_lines(report: AuditReport, target: CatalogueTarget) -> bytes:
    """Return the events of an audit as JSON, one per line."""
    events = run_events(report, target)
    return "".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n" for each in events).encode()


def _events(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
