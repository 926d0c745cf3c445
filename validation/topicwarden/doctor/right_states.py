"""Compares the rights that a user has with those that commands need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from topicwarden.doctor.command_rights import (
    COMMANDS,
    CREATE_TOPICS,
    SEE_CLUSTER,
    SEE_TOPICS,
    RequiredFor,
    RequiredRight,
    Resource,
)
from topicwarden.model.diagnosis import Possession, RightState

if TYPE_CHECKING:
    from topicwarden.kafka.read.user_rights import GroupRights, TopicRights

_SEES_ALL: Final = ("audit", "import")
"""Commands that work on every topic that the user sees; the others only on declared topics."""
_UNREPORTED: Final = "the brokers do not report it, and it cannot be tried without an effect"
_HIDDEN: Final = "Kafka does not report rights on topics that the user cannot see"


@dataclass(frozen=True)
class UserRights:
    """The rights of the user of a stack, as ``kafka/read/user_rights.py`` reads them."""

    cluster: Mapping[str, bool | None]
    topics: TopicRights
    groups: GroupRights


def right_states(
    rights: UserRights, declared: Collection[str], deletable: Collection[str], commands: Collection[str]
) -> Iterator[RightState]:
    """Yield each right that ``commands`` need. ``deletable`` topics may be deleted or recreated by the next deploy."""
    needed: dict[str, dict[str, RequiredRight]] = {}
    for command, required_rights in COMMANDS.items():
        for required in required_rights if command in commands else ():
            needed.setdefault(str(required.right), {})[command] = required
    for by_command in needed.values():
        yield _state(rights, frozenset(declared), frozenset(deletable), by_command)


def _state(
    rights: UserRights, declared: frozenset[str], deletable: frozenset[str], by_command: Mapping[str, RequiredRight]
) -> RightState:
    required = next(iter(by_command.values()))
    lost = {command: f"{each.effect}: {each.lost}" for command, each in by_command.items()}
    resource, operation = required.right.resource, required.right.operation
    base = RightState(right=str(required.right), state=Possession.GRANTED, commands=[*by_command], lost=lost)
    if resource is Resource.CLUSTER:
        return base.model_copy(update=_possession(rights.cluster.get(operation)))
    if resource is Resource.GROUP:
        denied = rights.groups.denied
        if denied is None:
            return base.model_copy(update=_possession(None))
        groups = rights.groups.groups
        # With Describe on Cluster, brokers list every group: there is none that this user could miss.
        none = not groups and rights.cluster.get(SEE_CLUSTER.operation)
        lacking = Possession.UNNEEDED if none else Possession.MISSING
        state = lacking if denied else Possession.GRANTED
        return base.model_copy(update={"state": state, "topics": sorted(denied & groups), "of": len(groups)})
    return base.model_copy(update=_on_topics(rights, declared, deletable, by_command))


def _possession(granted: bool | None) -> dict[str, object]:
    if granted is None:
        return {"state": Possession.UNTESTED, "reason": _UNREPORTED}
    return {"state": Possession.GRANTED if granted else Possession.MISSING}


def _on_topics(
    rights: UserRights, declared: frozenset[str], deletable: frozenset[str], by_command: Mapping[str, RequiredRight]
) -> dict[str, object]:
    topics = rights.topics
    right, scope = next((each.right, each.topics) for each in by_command.values())
    names = declared
    if not by_command.keys().isdisjoint(_SEES_ALL):
        # Few users may read Kafka's own topics, and an audit leaves out what it cannot see of them.
        names |= {name for name in topics.operations if not name.startswith("__")}
    absent = topics.missing | topics.hidden
    needed = {
        RequiredFor.EVERY: names if right == SEE_TOPICS else names - topics.missing,
        RequiredFor.NEW: declared & absent,
        RequiredFor.DELETABLE: declared & deletable,
    }[scope]
    granted = {name: _granted(rights, right.operation, name) for name in names}
    missing = sorted(name for name in needed if granted[name] is False)
    unknown = sorted(name for name in needed if granted[name] is None)
    if missing:
        return {"state": Possession.MISSING, "topics": missing, "of": len(needed)}
    if unknown:
        reason = _HIDDEN if topics.hidden.issuperset(unknown) else _UNREPORTED
        return {"state": Possession.UNTESTED, "topics": unknown, "of": len(needed), "reason": reason}
    if not needed and (lacking := sorted(name for name in names if granted[name] is False)):
        return {"state": Possession.UNNEEDED, "topics": lacking, "of": len(names)}
    return {"of": len(needed)}


def _granted(rights: UserRights, operation: str, topic: str) -> bool | None:
    topics = rights.topics
    creates = operation == CREATE_TOPICS.operation
    if creates and rights.cluster.get(operation):
        return True
    if creates and topic in topics.creatable:
        return topics.creatable[topic]
    if topic in topics.hidden:
        return False if operation == SEE_TOPICS.operation else None
    operations = topics.operations.get(topic)
    if operations is None:
        return True if operation == SEE_TOPICS.operation else None
    return operation in operations
