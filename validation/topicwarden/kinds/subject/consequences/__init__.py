"""The consequences of a change of one subject that the registry shows."""

from __future__ import annotations

from typing import Final

from topicwarden.kinds.subject.consequences import (
    breaks_readers,
    delete_subject,
    foreign_version,
    incompatible,
    lower_compatibility,
    missing_reference,
)
from topicwarden.kinds.subject.evidence import SubjectContext
from topicwarden.plan.change_guard import GuardedConsequence

CONSEQUENCES: Final[tuple[GuardedConsequence[SubjectContext], ...]] = (
    incompatible,
    missing_reference,
    foreign_version,
    lower_compatibility,
    delete_subject,
    breaks_readers,
)
