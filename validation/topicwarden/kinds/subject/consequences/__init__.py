"""The table of all consequences of a change of a subject, and their protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.kinds.subject.consequences import (
    breaks_readers,
    delete_subject,
    foreign_version,
    incompatible,
    lower_compatibility,
    missing_reference,
)
from topicwarden.kinds.subject.evidence import SubjectContext
from topicwarden.model.planned_change import Consequence
from topicwarden.plan.change_guard import ChangeGuard


class SubjectConsequenceRule(Protocol):
    """A module with these names; its docstring describes the effect, its inputs, and how exact it is.

    ``KIND`` is the kind of its consequences, and ``GUARDS`` has their rows of the page of all guards.
    """

    KIND: str
    GUARDS: tuple[ChangeGuard, ...]

    def evaluate(self, context: SubjectContext) -> Iterable[Consequence]:
        """Return the consequences of the change of one subject that the registry shows."""


SUBJECT_CONSEQUENCES: tuple[SubjectConsequenceRule, ...] = (
    incompatible,
    missing_reference,
    foreign_version,
    lower_compatibility,
    delete_subject,
    breaks_readers,
)
