"""Publish one audit to the catalogues of its stack, from a command that ends after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from topicwarden.catalogues.catalogue_target import catalogue_targets
from topicwarden.catalogues.publisher import Publisher, publishing
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project

DRAIN_S: Final = 30.0
"""How long a command waits for deliveries when it ends, as long as they succeed."""


def catalogue_state(project: Project, stack: str) -> Path:
    """Return the folder of the queues of a stack's catalogues."""
    return project.cache / "catalogues" / stack


@contextmanager
def stack_publishing(project: Project, stack: str) -> Iterator[Publisher]:
    """Yield a publisher to the catalogues of ``stack``, perhaps to none. Refuse invalid settings."""
    targets = catalogue_targets(project, stack)
    state = catalogue_state(project, stack)
    with ExitStack() as resources:
        try:
            publisher = resources.enter_context(publishing(targets, state, drain_s=DRAIN_S))
        except ValueError as error:
            raise Refusal(f"the catalogues of stack {stack!r} cannot be used: {error}") from error
        yield publisher


def undelivered(publisher: Publisher) -> list[str]:
    """Return one line for each catalogue with a failure: its reason, and what happens next."""
    lines = []
    for name, status in publisher.status().items():
        if status.pending or status.last_error:
            waiting = f"; {counted(status.pending, 'audit')} in its queue, for the next run" if status.pending else ""
            lines.append(f"catalogue {name}: {status.last_error or 'not delivered yet'}{waiting}")
    return lines
