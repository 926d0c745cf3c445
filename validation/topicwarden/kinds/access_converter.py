"""Describes a kind for imports, scopes and hosted services: as YAML, which stack owns it, and what a service limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kinds import in_file_order
from topicwarden.model.access import ACLS, AccessSource, DeclaredAccess, Operation, Part, ResourceType

if TYPE_CHECKING:
    from topicwarden.specs.stacks.stack_scope import StackScope


@dataclass(frozen=True)
class YamlEntry:
    """An entry of a file below ``access/``: of the list ``key``, or with a ``name`` of the mapping ``key``.

    ``refused`` is the reason why YAML cannot have it.
    """

    key: str
    value: Any
    name: str = ""
    refused: str = ""


@dataclass(frozen=True)
class Limit:
    """Declared access that a service or a version does not have: the declaration, and the message."""

    source: AccessSource
    message: str


@dataclass(frozen=True)
class AccessConverter:
    """One kind of access, as an import writes it, and where it may be declared.

    - ``part``: the part of the access that has the entries.
    - ``plural``: the words for several entries, such as ``SCRAM users``.
    - ``reads``, ``writes``: the permissions to read and to change the entries.
    - ``drift_check``: the check of an audit that compares them with the declared ones.
    - ``yaml``: yields entries of a file. Together they declare exactly the given entries.
    - ``outside``: the part of a scope that an entry is outside of, such as ``groups: a, b``; empty for none.
    - ``limits``: yields what the service and the version of the brokers lack; ``most`` limits the number of entries.
    - ``title``: an entry in words, such as ``user billing``. Entries with the same title are declared together.
    - ``comment``: lines above the entries in a file.
    """

    part: Part[Any, Any]
    plural: str
    reads: tuple[Operation, ResourceType]
    writes: tuple[Operation, ResourceType]
    drift_check: str
    yaml: Callable[[Mapping[Any, Any]], Iterator[YamlEntry]]
    title: Callable[[Any], str]
    outside: Callable[[Any, StackScope], str] = lambda key, scope: ""
    limits: Callable[[DeclaredAccess, BrokerSettings, int | None], Iterator[Limit]] = lambda *_: iter(())
    comment: tuple[str, ...] = ()

    def unmanaged(self, access: DeclaredAccess, brokers: BrokerSettings) -> Iterator[Limit]:
        """Yield what is declared although the service does not manage it through Kafka's protocol; one ACL of all."""
        service = PROFILES[brokers.profile]
        if fact := service.access.unmanaged.get(self.part):
            sources = (access.sources(self.part, key)[0] for key in access.part(self.part))
            message = (
                f"{service.title} does not manage {self.plural} with Kafka's protocol: {fact.text} ({fact.source})"
            )
            found = sorted(sources, key=lambda source: source.location)
            yield from (Limit(source, message) for source in (found[:1] if self.part == ACLS else found))


@cache
def converters() -> tuple[AccessConverter, ...]:
    """Return the conversions of all kinds, in the order of the keys of a file below ``access/``."""
    return tuple(each.CONVERTER for each in in_file_order("convert"))
