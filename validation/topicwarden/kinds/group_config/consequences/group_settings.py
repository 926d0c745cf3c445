"""``group-settings``: a setting of a group changes what its members get, or when they lose their partitions.

Members take a new value with their next heartbeat, without a restart (KIP-848, KIP-932, KIP-1071, KIP-1191). A group
without a value of its own has that of the brokers, ``group.<setting>``, and Kafka's default is assumed for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import Final

from pydantic import TypeAdapter, ValidationError

from topicwarden.kafka_facts.configs import group_definitions
from topicwarden.kinds.difference import settings_after
from topicwarden.kinds.group_config.change import GROUP_CONFIGS
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.model.units import setting_text
from topicwarden.plan.access_context import AccessContext
from topicwarden.plan.change_guard import ChangeGuard

KIND = "group-settings"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "a setting of a group changes what its members get, or when they lose their partitions",
        (),
        "a danger if records are skipped, given up, or delivered again, or dead letters are lost; else a note",
    ),
)


@dataclass(frozen=True)
class _Effect:
    """One row: the condition under which a change matters, and what it does to the group."""

    applies: Callable[[str, str], bool]
    severity: Severity
    what: str


def _lower(before: str, after: str) -> bool:
    return _number(after) < _number(before)


def _higher(before: str, after: str) -> bool:
    return _number(after) > _number(before)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _reach(start: str, unknown: float) -> float:
    """Return how many seconds back a group starts with ``earliest``, ``latest`` or ``by_duration:PT1H`` (KIP-1106).

    Another text, or a duration of more than 999,999,999 days, gives ``unknown``.
    """
    if start in _STARTS:
        return _STARTS[start]
    try:
        return _DURATION.validate_python(start.removeprefix("by_duration:").upper()).total_seconds()
    except ValidationError:
        return unknown


_STARTS: Final[Mapping[str, float]] = {"earliest": inf, "latest": 0.0}
_DURATION: Final = TypeAdapter(timedelta)
_REMOVED: Final = _Effect(_lower, Severity.NOTE, "members that pause for longer lose their partitions")
EFFECTS: Final[Mapping[str, _Effect]] = {
    "consumer.session.timeout.ms": _REMOVED,
    "share.session.timeout.ms": _REMOVED,
    "streams.session.timeout.ms": _REMOVED,
    "share.record.lock.duration.ms": _Effect(
        _lower, Severity.DANGER, "records whose processing takes longer are delivered again"
    ),
    "share.delivery.count.limit": _Effect(
        _lower, Severity.DANGER, "records are given up after fewer attempts, and nobody in the group gets them again"
    ),
    "share.partition.max.record.locks": _Effect(_lower, Severity.NOTE, "members get fewer records at the same time"),
    "share.isolation.level": _Effect(
        lambda before, after: after == "read_uncommitted",
        Severity.DANGER,
        "members also get records of aborted transactions",
    ),
    "share.auto.offset.reset": _Effect(
        lambda before, after: _reach(after, 0.0) < _reach(before, inf),
        Severity.DANGER,
        "the group reads fewer of the records that a partition has when the group first reads it",
    ),
    "errors.deadletterqueue.topic.name": _Effect(
        lambda before, after: before != "",
        Severity.DANGER,
        "records that nobody can process no longer go to the earlier topic",
    ),
    "errors.deadletterqueue.copy.record.enable": _Effect(
        lambda before, after: after == "false", Severity.DANGER, "dead letters no longer have the record itself"
    ),
    "share.renew.acknowledge.enable": _Effect(
        lambda before, after: after == "false",
        Severity.DANGER,
        "members cannot hold a record for longer, so it is delivered again",
    ),
    "streams.num.standby.replicas": _Effect(_lower, Severity.NOTE, "a failed member is replaced more slowly"),
    "streams.acceptable.recovery.lag": _Effect(
        _higher, Severity.NOTE, "a task may move to a member that has more to restore first"
    ),
}
"""The settings of groups whose change matters to clients. The others only affect how fast groups balance."""


def evaluate(context: AccessContext) -> Iterable[Consequence]:
    """Return one consequence for each setting of a group whose change members notice."""
    change = context.change
    for group, action in sorted(change.of(GROUP_CONFIGS).items()):
        if action not in (Action.CREATE, Action.UPDATE, Action.DELETE):
            continue
        live = (change.live.part(GROUP_CONFIGS) or {}).get(group, {})
        after = settings_after(change, GROUP_CONFIGS, group)
        for key, effect in EFFECTS.items():
            old, new = (values.get(key, _default(key)) for values in (live, after))
            if old != new and effect.applies(old, new):
                yield Consequence(
                    kind=KIND,
                    severity=effect.severity,
                    message=f"{key} of group {group} goes from {_text(key, live)} to {_text(key, after)}: "
                    f"{effect.what}",
                    measured="the settings of the group as the brokers report them",
                    evidence={"group": group, "setting": key, "before": old, "after": new},
                    location=change.declared.location(GROUP_CONFIGS, group),
                )


def _default(key: str) -> str:
    return group_definitions()[key].default or ""


def _text(key: str, values: Mapping[str, str]) -> str:
    if key in values:
        return setting_text(key, values[key]) or "none"
    return f"{setting_text(key, _default(key)) or 'none'} (Kafka's default)"
