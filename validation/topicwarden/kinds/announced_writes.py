"""Announces each request of the provider, so that a killed deploy leaves nothing behind that nobody names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
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


def unfinished(intents: Mapping[str, Intent], *, deployed: Collection[str], live: Collection[str]) -> dict[str, Intent]:
    """Return the intents whose result is not in Pulumi's state.

    A created topic that is not in the state: the next deploy adopts it if it is declared. A deleted topic that still is
    in the state: a refresh or a destroy removes it there.
    """
    return {
        topic: intent
        for topic, intent in intents.items()
        if (intent is Intent.CREATE and topic in live and topic not in deployed)
        or (intent is Intent.DELETE and topic in deployed and topic not in live)
    }


_ORPHANS: Final = {
    PlanSection.TOPICS: ("topics", "with Kafka's own tools"),
    PlanSection.ACCESS: ("access", "with Kafka's own tools"),
    PlanSection.REGISTRY: ("subjects", "in the Schema Registry"),
}


def orphans(
    intents: Mapping[str, Intent],
    declared: Collection[str],
    section: PlanSection = PlanSection.TOPICS,
    title: Callable[[str], str] = str,
) -> list[Problem]:
    """Return the problem that the unfinished ``intents`` created what no YAML declares any more, if they did.

    ``intents`` and ``declared`` have names of resources. ``title`` returns the words for one.
    """
    created = (name for name, intent in intents.items() if intent is Intent.CREATE and name not in declared)
    if not (names := sorted(map(title, created))):
        return []
    folder, tools = _ORPHANS[section]
    return [
        Problem(
            Location(folder),
            f"{first_of(names, _SHOWN)}: a deploy that was killed created this, Pulumi's state does not have it, and "
            f"no YAML declares it any more: restore the YAML and deploy, or delete it {tools}",
            rule="orphan",
        )
    ]
