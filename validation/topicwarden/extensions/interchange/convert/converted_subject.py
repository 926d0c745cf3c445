"""A subject of another tool's file, or of a Schema Registry, and what says which topic uses it."""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.model.compatibility import Compatibility
from topicwarden.model.problem import Location
from topicwarden.model.subject import RegisteredSchema, SubjectUse


@dataclass(frozen=True)
class ConvertedSubject:
    """A subject to declare.

    ``version`` is the version that ``schema`` has in the registry; None if the source does not say it. ``use`` is the
    part of a topic whose schema it is, if the source says so; if not, the name of the subject tells. ``location`` is
    the line of the source; None for a live registry.
    """

    name: str
    schema: RegisteredSchema
    compatibility: Compatibility | None = None
    version: int | None = None
    use: SubjectUse | None = None
    location: Location | None = None
