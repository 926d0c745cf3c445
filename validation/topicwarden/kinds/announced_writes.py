"""Announces each request of the provider, so that a killed deploy leaves nothing behind that nobody names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, TypeAlias

from topicwarden.model.message_text import first_of
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.problem import Location, Problem

_SHOWN: Final = 10  # names in a message


class Intent(StrEnum):
    """A request that was about to be sent."""

    CREATE = "create"
    DELETE = "delete"


Announce: TypeAlias = Callable[[Intent, Iterable[str]], None]
"""A function that records what is about to be sent, by name."""


def announce_writes(announce: Announce, writes: Mapping[str, Mapping[str, object]]) -> None:
    """Announce ``writes``, the values by name; one with nothing but None is a deletion."""
    deleted = {name for name, values in writes.items() if all(value is None for value in values.values())}
    announce(Intent.DELETE, sorted(deleted))
    announce(Intent.CREATE, [name for name in writes if name not in deleted])


_ORPHANS: Final = {
    PlanSection.TOPICS: ("topics", "with Kafka's own tools"),
    PlanSection.ACCESS: ("access", "with Kafka's own tools"),
    PlanSection.REGISTRY: ("subjects", "in the Schema Registry"),
}


@dataclass(frozen=True)
class UnfinishedWrites:
    """The intents of killed deploys whose result is not in Pulumi's state, by the name of the resource.

    A created resource that is not in the state: the next deploy adopts it if it is declared. A deleted one that still
    is in the state: a refresh or a destroy removes it there. ``orphans`` has the problem that killed deploys have
    created what no YAML declares any more, if they did.
    """

    section: PlanSection
    intents: Mapping[str, Intent] = field(default_factory=dict)
    orphans: tuple[Problem, ...] = ()


def unfinished_writes(
    section: PlanSection,
    intents: Mapping[str, Intent],
    *,
    declared: Collection[str],
    deployed: Collection[str],
    live: Collection[str],
    unseen: Collection[str] = (),
    title: Callable[[str], str] = str,
) -> UnfinishedWrites:
    """Return what killed deploys left of a section, given the names of its resources; ``title`` is one in words.

    ``unseen`` may exist, because this user may not see them now: what was announced for them stays announced.
    """
    remaining = {
        name: intent
        for name, intent in intents.items()
        if (intent is Intent.CREATE and (name in live or name in unseen) and name not in deployed)
        or (intent is Intent.DELETE and name in deployed and name not in live)
    }
    created = (
        name for name, intent in remaining.items() if intent is Intent.CREATE and name in live and name not in declared
    )
    if not (titles := sorted(map(title, created))):
        return UnfinishedWrites(section, remaining)
    folder, tools = _ORPHANS[section]
    message = (
        f"{first_of(titles, _SHOWN)}: a deploy that was killed created this, Pulumi's state does not have it, and "
        f"no YAML declares it any more: restore the YAML and deploy, or delete it {tools}"
    )
    return UnfinishedWrites(section, remaining, (Problem(Location(folder), message, rule="orphan"),))
