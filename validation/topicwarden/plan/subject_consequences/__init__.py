"""The table of all consequences of a change of a subject, and their protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from topicwarden.model.planned_change import Consequence
from topicwarden.plan.subject_consequences import (
    breaks_readers,
    delete_subject,
    foreign_version,
    incompatible,
    lower_compatibility,
    missing_reference,
)
from topicwarden.plan.subject_evidence import SubjectContext


class SubjectConsequenceRule(Protocol):
    """A module with this function; its docstring describes the effect, its inputs, and how exact it is."""

    KIND: str

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
