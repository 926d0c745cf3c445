"""Deliver OpenLineage events: to a server, or to a file with one event per line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

from topicwarden.catalogues.catalogue_client import CatalogueClient
from topicwarden.catalogues.catalogue_target import CatalogueTarget
from topicwarden.catalogues.delivery_error import DeliveryError
from topicwarden.catalogues.openlineage_events import run_events
from topicwarden.model.finding import AuditReport

PATH: Final = "/api/v1/lineage"
"""The endpoint of OpenLineage's HTTP interface, below the URL of the catalogue."""


class OpenLineageServer:
    """A server with OpenLineage's HTTP interface. A server recognizes an event that arrives twice by its run."""

    def __init__(self, target: CatalogueTarget) -> None:
        self._target, self._client = target, CatalogueClient(target.settings)

    def payload(self, report: AuditReport) -> bytes:
        return event_lines(report, self._target)

    def deliver(self, payload: bytes) -> None:
        """Send each event, in order. Raises DeliveryError."""
        for event in _events(payload):
            self._client.post(PATH, event)

    def close(self) -> None:
        self._client.close()


class OpenLineageFile:
    """A file to which events are appended, for a program that reads new lines."""

    def __init__(self, target: CatalogueTarget, file: Path) -> None:
        self._target, self._file = target, file

    def payload(self, report: AuditReport) -> bytes:
        return event_lines(report, self._target)

    def deliver(self, payload: bytes) -> None:
        """Append the events in one step. Raises DeliveryError."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                size = os.fstat(descriptor).st_size
                try:
                    _write(descriptor, payload)
                except OSError:
                    os.ftruncate(descriptor, size)  # no half line
                    raise
            finally:
                os.close(descriptor)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DeliveryError(f"cannot write {self._file}: {reason}") from None

    def close(self) -> None:
        """Do nothing: the file is closed after each delivery."""


def event_lines(report: AuditReport, target: CatalogueTarget) -> bytes:
    """Return the events of an audit as JSON, one per line."""
    events = run_events(report, target)
    return "".join(json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n" for each in events).encode()


def _events(payload: bytes) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in payload.splitlines()]
    except ValueError:
        raise DeliveryError("a file of the queue is not readable", rejected=True) from None


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
