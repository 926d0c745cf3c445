"""Compares the permissions that a user has with those that commands need."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from topicwarden.model.access import Operation, ResourceType
from topicwarden.model.diagnosis import PermissionState, Possession
from topicwarden.operations.doctor.command_permissions import (
    ACCESS,
    COMMANDS,
    CREATE_TOPICS,
    SEE_CLUSTER,
    SEE_TOPICS,
    RequiredFor,
    RequiredPermission,
)

if TYPE_CHECKING:
    from topicwarden.kafka.read.user_permissions import GroupPermissions, TopicPermissions

_SEES_ALL: Final = ("audit", "watch", "import", "usage")
"""Commands that work on every topic that the user sees; the others only on declared topics."""
_UNREPORTED: Final = "the brokers do not report it, and it cannot be tried without an effect"
_UNKNOWN_TARGET: Final = "only the topic of --to needs it"
_HIDDEN: Final = "Kafka does not report permissions on topics that the user cannot see"


@dataclass(frozen=True)
class UserPermissions:
    """The permissions of the user of a stack, as ``kafka/read/user_permissions.py`` reads them."""

    cluster: Mapping[str, bool | None]
    topics: TopicPermissions
    groups: GroupPermissions


def permission_states(
    permissions: UserPermissions,
    declared: Collection[str],
    deletable: Collection[str],
    commands: Collection[str],
    *,
    access: bool = False,
) -> Iterator[PermissionState]:
    """Yield each permission that ``commands`` need. ``deletable`` topics may be deleted or recreated by the next
    deploy; ``access`` says whether the stack declares access.

    A permission has two states if commands on all topics miss it on other topics than commands on declared topics.
    """
    needed: dict[str, dict[str, RequiredPermission]] = {}
    for command in COMMANDS:
        for required in required_permissions(command, access=access) if command in commands else ():
            needed.setdefault(str(required.permission), {})[command] = required
    for by_command in needed.values():
        yield from _states(permissions, frozenset(declared), frozenset(deletable), by_command)


def required_permissions(command: str, *, access: bool) -> list[RequiredPermission]:
    """Return what ``command`` needs, once for each permission; with ``access`` also for declared access."""
    needed = {each.permission: each for each in COMMANDS[command]}
    for each in ACCESS.get(command, ()) if access and command != "import" else ():
        before = needed.get(each.permission)
        needed[each.permission] = each if before is None else _both(before, each)
    return list(needed.values())


def _both(one: RequiredPermission, other: RequiredPermission) -> RequiredPermission:
    """Return the permission that is needed for both reasons. If an effect differs, the text has both."""
    lost = other.lost if one.effect is other.effect else f"{other.lost} ({other.effect})"
    return replace(one, lost=f"{one.lost}; {lost}", affected=(*one.affected, *other.affected))


def _states(
    permissions: UserPermissions,
    declared: frozenset[str],
    deletable: frozenset[str],
    by_command: Mapping[str, RequiredPermission],
) -> Iterator[PermissionState]:
    of_all = {command: each for command, each in by_command.items() if command in _SEES_ALL}
    of_declared = {command: each for command, each in by_command.items() if command not in _SEES_ALL}
    found = [_state(permissions, declared, deletable, each) for each in (of_declared, of_all) if each]
    if len({(each.state, *each.topics) for each in found}) == 1:
        found = [_state(permissions, declared, deletable, by_command)]
    yield from found


def _state(
    permissions: UserPermissions,
    declared: frozenset[str],
    deletable: frozenset[str],
    by_command: Mapping[str, RequiredPermission],
) -> PermissionState:
    required = next(iter(by_command.values()))
    lost = {command: f"{each.effect}: {each.lost}" for command, each in by_command.items()}
    resource, operation = required.permission.resource, required.permission.operation
    base = PermissionState(
        permission=str(required.permission), state=Possession.GRANTED, commands=[*by_command], lost=lost
    )
    if resource is ResourceType.CLUSTER:
        return base.model_copy(update=_possession(permissions.cluster.get(operation)))
    untested = resource is ResourceType.GROUP and operation is not Operation.DESCRIBE
    if untested or resource is ResourceType.TRANSACTIONAL_ID:
        return base.model_copy(update=_possession(None))
    if resource is ResourceType.GROUP:
        denied = permissions.groups.denied
        if denied is None:
            return base.model_copy(update=_possession(None))
        groups = permissions.groups.groups
        # With Describe on Cluster, brokers list every group: there is none that this user could miss.
        none = not groups and permissions.cluster.get(SEE_CLUSTER.operation)
        lacking = Possession.UNNEEDED if none else Possession.MISSING
        state = lacking if denied else Possession.GRANTED
        return base.model_copy(update={"state": state, "topics": sorted(denied & groups), "of": len(groups)})
    return base.model_copy(update=_on_topics(permissions, declared, deletable, by_command))


def _possession(granted: bool | None) -> dict[str, object]:
    if granted is None:
        return {"state": Possession.UNTESTED, "reason": _UNREPORTED}
    return {"state": Possession.GRANTED if granted else Possession.MISSING}


def _on_topics(
    permissions: UserPermissions,
    declared: frozenset[str],
    deletable: frozenset[str],
    by_command: Mapping[str, RequiredPermission],
) -> dict[str, object]:
    topics = permissions.topics
    permission, scope = next((each.permission, each.topics) for each in by_command.values())
    if scope is RequiredFor.TARGET:
        return {"state": Possession.UNTESTED, "reason": _UNKNOWN_TARGET}
    names = declared
    if not by_command.keys().isdisjoint(_SEES_ALL):
        # Few users may read Kafka's own topics, and an audit leaves out what it cannot see of them.
        names |= {name for name in topics.operations if not name.startswith("__")}
    absent = topics.missing | topics.hidden
    needed = {
        RequiredFor.EVERY: names if permission == SEE_TOPICS else names - topics.missing,
        RequiredFor.NEW: declared & absent,
        RequiredFor.DELETABLE: declared & deletable,
    }[scope]
    granted = {name: _granted(permissions, permission.operation, name) for name in names}
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


def _granted(permissions: UserPermissions, operation: str, topic: str) -> bool | None:
    topics = permissions.topics
    creates = operation == CREATE_TOPICS.operation
    if creates and permissions.cluster.get(operation):
        return True
    if creates and topic in topics.creatable:
        return topics.creatable[topic]
    if topic in topics.hidden:
        return False if operation == SEE_TOPICS.operation else None
    operations = topics.operations.get(topic)
    if operations is None:
        return True if operation == SEE_TOPICS.operation else None
    return operation in operations
