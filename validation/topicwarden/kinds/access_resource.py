"""Describes the entries of a kind as resources of Pulumi, and the resources of one type on one cluster."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from topicwarden.kinds.announced_writes import Announce, UnfinishedWrites
from topicwarden.kinds.batches import EngineCalls
from topicwarden.kinds.properties import Properties
from topicwarden.kinds.resource_type import PulumiType, as_texts
from topicwarden.model.access import AccessKey, DeclaredAccess, DeployedAccess, LiveAccess, Part, SecretReference
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.topic import Allowance, AllowedChange

if TYPE_CHECKING:
    from topicwarden.kafka.write.admin_session import AdminSession
    from topicwarden.specs.stacks.registry_settings import RegistrySettings


class Resources(Protocol):
    """The resources of one type on one cluster."""

    async def create(self, inputs: Properties) -> Properties | None:
        """Create one; return outputs that are no inputs."""

    async def read(self, id: str, declared: Properties | None) -> Properties | None: ...
    async def update(self, id: str, olds: Properties, news: Properties) -> Properties | None: ...
    async def delete(self, id: str, properties: Properties) -> None: ...


ACCESS_SET_TYPE: Final = "topicwarden:index:AccessSet"
"""The component that has all access."""
EDITED: Final = (AttributeError, KeyError, OverflowError, TypeError, ValueError)
"""What reading the properties of a resource raises if its state was edited, or if a value is a secret."""


@dataclass(frozen=True)
class Target:
    """The cluster and the Schema Registry that the provider writes to, and how it reports what it does.

    - ``calls``: the calls of the engine. ``announce`` records the names of the resources that are about to be written.
    - ``registry`` returns the registry of the stack, None if it names none.
    - ``warn`` shows a line, and ``progress`` one about work that takes long.
    - ``check_adoption`` may refuse to adopt a topic that exists.
    """

    session: AdminSession
    calls: EngineCalls
    announce: Announce
    registry: Callable[[], RegistrySettings | None]
    warn: Callable[[str], None]
    progress: Callable[[str], None]
    check_adoption: Callable[[str], Awaitable[None]]

    @property
    def cluster(self) -> tuple[AdminSession, EngineCalls, Announce]:
        """The part of the target that the kinds of access need."""
        return self.session, self.calls, self.announce


@dataclass(frozen=True)
class AccessBefore:
    """The declared access, access as deployed and as live before the deploy, and what killed deploys left of it.

    ``refreshed``: the deploy also creates again what is deployed as declared, but not on the cluster any more.
    """

    declared: DeclaredAccess
    deployed: DeployedAccess
    live: LiveAccess = field(default_factory=LiveAccess)
    unfinished: UnfinishedWrites = field(default_factory=partial(UnfinishedWrites, PlanSection.ACCESS))
    refreshed: bool = False


@dataclass(frozen=True)
class KindWrites:
    """The part of a deploy that is particular to one kind, beside the registration of the properties of entries.

    - ``prepare``: the value for each of the kind's ``functions`` that the program calls first.
    - ``import_ids``: the ids of entries that exist as declared, and that the deploy takes over as they are, by key.
    - ``written``: entries whose secret this deploy, or an earlier one, has written, with the number of iterations.
    - ``replaced``: the present number of those to which this deploy gives another one, or None for a secret of somebody
      else. It stays if the write fails.
    """

    prepare: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    import_ids: Mapping[Any, str] = field(default_factory=dict)
    written: Mapping[Any, int] = field(default_factory=dict)
    replaced: Mapping[Any, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class SecretProperty:
    """The property that gets a secret of the stack's configuration.

    - ``word``: what the secret is, such as ``password``, and the id of problems with it.
    - ``owner``: who has it, in words, given the value of an entry.
    - ``reference``: the secret, given the value of an entry; None if the entry names none.
    """

    name: str
    word: str
    owner: Callable[[Any], str]
    reference: Callable[[Any], SecretReference | None]


@dataclass(frozen=True)
class AccessResource:
    """One kind of access, the topics, or the subjects, as resources of Pulumi.

    - ``part``: the part of the access that has the entries; ``topics`` and ``subjects`` are not of the access.
    - ``types``: the types of the resources.
    - ``parts_of``: the parts of a key whose hash is the resource's name. A name is never a position, so that moving a
      declaration to another file changes nothing.
    - ``type_of``: the type of the resource of a key.
    - ``properties``: the properties of an entry, given its key and value.
    - ``key_of``, ``value_of``: the key and the value in properties; both raise one of ``EDITED`` if the state was
      edited. Where a value is None, the entry has none.
    - ``open``: the resources of a cluster or a registry.
    - ``allowance``: the word that each file must have if a command without a plan removes an entry; None for none.
    - ``named``: the name of a resource, if it is not a hash.
    - ``component``: the type of the component that has the resources, or the types from the outermost one on.
    - ``section``: the section of the plan that has the resources.
    - ``functions``: the functions that only this provider has, which prepare the resources for a deploy, by token. Each
      takes the resources and a value.
    - ``writes``: what a deploy does beside the registration of properties.
    - ``secret``: the property that gets a secret of the stack's configuration, if there is one.
    """

    part: Part[Any, Any]
    types: tuple[PulumiType, ...]
    parts_of: Callable[[Any], Iterable[object]]
    properties: Callable[[Any, Any], dict[str, Any]]
    key_of: Callable[[Mapping[str, Any]], AccessKey]
    value_of: Callable[[Mapping[str, Any]], Any]
    open: Callable[[Target], Resources]
    allowance: Callable[[Any], AllowedChange | None] = lambda _: None
    type_of: Callable[[Any], str] | None = None
    named: Callable[[Any], str] | None = None
    component: str = ACCESS_SET_TYPE
    section: PlanSection = PlanSection.ACCESS
    functions: Mapping[str, Callable[[Any, Any], None]] = field(default_factory=dict)
    writes: Callable[[AccessBefore], KindWrites] = lambda _: KindWrites()
    secret: SecretProperty | None = None

    def name(self, key: AccessKey) -> str:
        """Return the name of the resource of an entry."""
        return self.named(key) if self.named else resource_hash(*self.parts_of(key))

    def type(self, key: AccessKey) -> str:
        """Return the type of the resource of an entry."""
        return self.type_of(key) if self.type_of else self.types[0].token

    def urn(self, prefix: str, key: AccessKey) -> str:
        """Return the URN that the program registers; ``prefix`` is ``urn:pulumi:<stack>::<project>``.

        Not for an ACL that denies, which has another component.
        """
        return f"{prefix}::{self.component}${self.type(key)}::{self.name(key)}"

    def registered(self, urn: str) -> bool:
        """Return whether the program of topicwarden registers the resource with this URN."""
        return f"::{self.component}$" in urn


def resource_hash(*parts: object) -> str:
    """Return a name that is unique for ``parts``."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:20]


def settings_of(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings in the property ``config``, as text."""
    return as_texts(properties.get("config") or {})


def recorded_allowances(allow: Iterable[Allowance]) -> list[dict[str, str]]:
    """Return ``allow`` as the state records it."""
    return [
        {"change": allowance.change.value} | ({"until": allowance.until.isoformat()} if allowance.until else {})
        for allowance in sorted(allow, key=lambda allowance: allowance.change.value)
    ]


def allowances(records: object) -> frozenset[Allowance]:
    """Return the allowances that ``recorded_allowances`` has recorded.

    One that this version does not know, or that was edited, allows nothing.
    """
    found = set()
    for record in records if isinstance(records, list | tuple) else ():
        with suppress(*EDITED):
            until = date.fromisoformat(record["until"]) if "until" in record else None
            found.add(Allowance(AllowedChange(record["change"]), until))
    return frozenset(found)


def mapping(value: object) -> Mapping[str, Any]:
    """Return ``value`` of a state if it is a mapping; else it was edited, and says nothing."""
    return value if isinstance(value, Mapping) else {}


def require_id(resource: Mapping[str, Any], id: str) -> None:
    """Raise ValueError if the ``resource`` of a state has another ``id``: the provider would write another object."""
    if resource.get("id", id) != id:
        raise ValueError("the id of a resource was edited")


def is_kept(resource: Mapping[str, Any]) -> bool:
    """Return whether the engine removes the ``resource`` from the state in place of a deletion.

    No program of topicwarden sets these marks.
    """
    return bool(resource.get("retainOnDelete") or resource.get("deletedWith"))
