"""Publish one audit to the catalogues of its stack, from a command that ends after it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from topicwarden.catalogues.catalogue_target import catalogue_targets
from topicwarden.catalogues.publisher import Publisher, publishing
from topicwarden.kafka.connect.stack_connection import stack_settings, written_settings
from topicwarden.model.finding import AuditReport
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.stacks.stack_settings import CATALOGUES

DRAIN_S: Final = 30.0
"""How long a command waits for deliveries when it ends, as long as they succeed."""


def catalogue_state(project: Project, stack: str) -> Path:
    """Return the folder of the queues of a stack's catalogues."""
    return project.cache / "catalogues" / stack


def publish_audit(project: Project, stack: str, report: AuditReport) -> list[str]:
    """Publish ``report`` to the catalogues of ``stack``, perhaps to none. Return one line for each failure.

    Audits that are still in the queues are delivered, too. Raises nothing: the audit itself has succeeded.
    """
    try:
        if written_settings(project, stack).get(CATALOGUES) is None:
            return []  # decrypts nothing
        targets = catalogue_targets(project, stack, stack_settings(project, stack))
        with publishing(targets, catalogue_state(project, stack), drain_s=DRAIN_S) as publisher:
            publisher.take(report)
    except Refusal as error:
        return [f"the audit does not reach the catalogues of stack {stack}: {error}"]
    return _failures(publisher)


def _failures(publisher: Publisher) -> list[str]:
    lines = []
    for name, status in publisher.status().items():
        if status.pending or status.last_error:
            waiting = f"; {counted(status.pending, 'audit')} in its queue, for the next run" if status.pending else ""
            lines.append(f"catalogue {name}: {status.last_error or 'not delivered yet'}{waiting}")
    return lines
