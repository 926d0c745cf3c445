"""A declared subject of the Schema Registry, with what an audit knows about it."""

from __future__ import annotations

from dataclasses import dataclass

from topicwarden.model.compatibility import Compatibility
from topicwarden.model.subject import DeclaredSubject, SubjectVersion


@dataclass(frozen=True)
class AuditedSubject:
    """A declared subject, and its state in the registry.

    ``latest``: None if the subject does not exist. ``compatibility``: the level that applies, its own or the
    registry's; None if it is not known. ``registered``: the version with the declared schema; None if there is none.
    ``versions``: the versions that are not deleted, oldest first; empty if no check needs them. ``complete``: whether
    these are all. ``read_only``: whether the registry refuses changes. ``error``: why the rest is not known.
    ``referenced``: the versions that declared schemas refer to by number.
    ``used_ids``: the schema ids in all records of all topics that are declared to use the subject; ``unknown_ids``:
    why these are not known.
    """

    declared: DeclaredSubject
    latest: SubjectVersion | None = None
    compatibility: Compatibility | None = None
    registered: SubjectVersion | None = None
    versions: tuple[SubjectVersion, ...] = ()
    complete: bool = True
    read_only: bool = False
    error: str | None = None
    referenced: frozenset[int] = frozenset()
    used_ids: frozenset[int] = frozenset()
    unknown_ids: str | None = None

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def as_declared(self) -> bool:
        """Return whether the latest version has the declared schema, and the declared level applies."""
        latest, declared = self.latest, self.declared.compatibility
        same_version = latest is not None and self.registered is not None and self.registered.version == latest.version
        return self.error is None and same_version and declared in (None, self.compatibility)

    @property
    def newer(self) -> tuple[SubjectVersion, ...]:
        """Return the versions after the declared schema whose ids no earlier version has."""
        if self.registered is None:
            return ()
        number = self.registered.version
        earlier = {each.id for each in self.versions if each.version <= number} | {self.registered.id}
        return tuple(each for each in self.versions if each.version > number and each.id not in earlier)

    @property
    def older(self) -> tuple[SubjectVersion, ...]:
        """Return the versions before the declared schema that no declared schema refers to.

        Versions whose ids a later version has as well are left out.
        """
        if self.registered is None:
            return ()
        number = self.registered.version
        later = {each.id for each in self.versions if each.version >= number} | {self.registered.id}
        before = (each for each in self.versions if each.version < number and each.version not in self.referenced)
        return tuple(each for each in before if each.id not in later)
