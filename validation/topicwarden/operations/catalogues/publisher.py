"""Publish audits to the catalogues of a stack, within a few seconds. The next audit replaces what was not delivered."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from topicwarden.kafka.connect.stack_connection import (
    connection_from,
    refuse_problems,
    settings_file,
    stack_settings,
    written_settings,
)
from topicwarden.model.finding import AuditReport
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.notices.webhook import THREAD, WebhookError, post
from topicwarden.specs.stacks.delivery_settings import CatalogueSettings, read_catalogue_settings
from topicwarden.specs.stacks.stack_settings import CATALOGUES


@dataclass(frozen=True)
class CatalogueTarget:
    """A catalogue that gets the verdicts of audits.

    ``cluster`` is the namespace of the topics in OpenLineage: ``kafka://`` and the address of a broker.
    """

    settings: CatalogueSettings
    cluster: str

    @property
    def name(self) -> str:
        return self.settings.name


def kafka_namespace(bootstrap_servers: Iterable[str]) -> str:
    """Return the namespace of a cluster: its first broker address in alphabetical order, in lower case.

    The order in the settings has no effect. Source: "Kafka" in OpenLineage's ``spec/Naming.md``.
    """
    return f"kafka://{min(server.strip().lower() for server in bootstrap_servers)}"


def catalogue_targets(project: Project, stack: str, settings: Mapping[str, Any]) -> list[CatalogueTarget]:
    """Return the catalogues in the decrypted ``settings`` of ``stack``. Refuse invalid settings."""
    if settings.get(CATALOGUES) is None:
        return []
    catalogues, problems = read_catalogue_settings(settings[CATALOGUES], project.root)
    refuse_problems(problems, settings_file(stack), CATALOGUES)
    own = kafka_namespace(connection_from(project, settings_file(stack), settings).bootstrap_servers)
    return [CatalogueTarget(each, kafka_namespace([each.cluster]) if each.cluster else own) for each in catalogues]


DEADLINE_S: Final = 10.0
"""How long an audit waits for all catalogues."""
PATH: Final = "/api/v1/lineage"
"""The endpoint of OpenLineage's HTTP interface, below the URL of the catalogue."""


class Publisher:
    """The catalogues of one stack, which get the verdicts of each audit."""

    def __init__(self) -> None:
        self._targets: Sequence[CatalogueTarget] = ()
        self._running: dict[str, threading.Thread] = {}
        self._errors: dict[str, str | None] = {}

    def use(self, targets: Sequence[CatalogueTarget]) -> None:
        """Publish to ``targets`` from now on."""
        self._targets = tuple(targets)

    def take(self, report: AuditReport) -> None:
        """Publish ``report``. Never raises, and takes at most ``DEADLINE_S`` for all catalogues."""
        until = time.monotonic() + DEADLINE_S
        for target in self._targets:
            if (running := self._running.get(target.name)) and running.is_alive():
                continue
            self._errors[target.name] = "did not answer in time"
            thread = threading.Thread(
                target=self._publish, args=(target, report), name=f"{THREAD}{target.name}", daemon=True
            )
            self._running[target.name] = thread
            thread.start()
        for target in self._targets:
            self._running[target.name].join(max(until - time.monotonic(), 0.0))

    def errors(self) -> Mapping[str, str | None]:
        """Return why the last audit did not reach a catalogue, by its name; None if it did."""
        return {target.name: self._errors.get(target.name) for target in self._targets}

    def _publish(self, target: CatalogueTarget, report: AuditReport) -> None:
        error: str | None
        try:
            error = _deliver(target, report)
        except Exception as failure:  # noqa: BLE001 -- no audit fails because of a catalogue
            error = f"the audit cannot be published ({type(failure).__name__})"
        self._errors[target.name] = error


def publish_audit(project: Project, stack: str, report: AuditReport) -> list[str]:
    """Publish ``report`` to the catalogues of ``stack``, perhaps to none. Return one line for each failure.

    Raises nothing: the audit itself has succeeded.
    """
    lines = list(left_queues(project, stack))
    try:
        if written_settings(project, stack).get(CATALOGUES) is None:
            return lines  # decrypts nothing
        publisher = Publisher()
        publisher.use(catalogue_targets(project, stack, stack_settings(project, stack)))
    except Refusal as error:
        return [*lines, f"the audit does not reach the catalogues of stack {stack}: {error}"]
    publisher.take(report)
    return [*lines, *(f"catalogue {name}: {error}" for name, error in publisher.errors().items() if error)]


def left_queues(project: Project, stack: str) -> Iterator[str]:
    """Yield a line for each queue of an earlier version in which audits wait; the next call yields nothing about it."""
    for file in sorted((project.cache / "catalogues" / stack).glob("*/*.sqlite")):
        with suppress(OSError):
            renamed = file.replace(file.with_suffix(".unused"))
            try:
                with closing(sqlite3.connect(renamed)) as database:
                    (number,) = database.execute("SELECT count(*) FROM payloads").fetchone()
            except sqlite3.Error:
                number = 0
            if number:
                waiting = f"{counted(number, 'audit')} in the queue of an earlier version"
                yield f"catalogue {file.parent.name}: {waiting} will not be delivered: {renamed}"


def _deliver(target: CatalogueTarget, report: AuditReport) -> str | None:
    """Publish ``report`` to ``target``; return why that fails, or None."""
    try:
        from topicwarden.operations.catalogues.openlineage_events import run_events  # noqa: PLC0415 -- an extra
    except ImportError:
        return "needs OpenLineage's client: pip install 'topicwarden[openlineage]'"
    settings = target.settings
    events = run_events(report, target)
    if settings.file is not None:
        try:
            _append(settings.file, b"".join(line + b"\n" for line in events))
        except OSError as error:
            return f"cannot write {settings.file}: {error.strerror or type(error).__name__}"
        return None
    address = settings.url or ""
    address = address if address.endswith(PATH) else f"{address}{PATH}"
    headers = {"Authorization": f"Bearer {settings.token}"} if settings.token else {}
    try:
        for event in events:
            post(address, event, headers, settings.certificates)
    except WebhookError as error:
        url = urlsplit(address)
        server = f"{url.scheme}://{url.netloc}{url.path.removesuffix(PATH)}"
        return f"the OpenLineage server at {server} {error} ({CATALOGUES}.{target.name})"
    return None


def _append(file: Path, content: bytes) -> None:
    """Append ``content`` to ``file`` in one step, or nothing. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    # Without O_NONBLOCK, a named pipe would block until a program reads it.
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK, 0o644)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "expected a regular file, got a device, pipe or socket")
        size = os.fstat(descriptor).st_size
        try:
            while content:
                content = content[os.write(descriptor, content) :]
        except OSError:
            os.ftruncate(descriptor, size)  # no half line
            raise
    finally:
        os.close(descriptor)
