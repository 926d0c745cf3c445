"""The tables of a plan and settings for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from topicwarden.model.message_text import first_of
from topicwarden.model.planned_change import (
    Action,
    Consequence,
    GroupEffect,
    PartitionEffect,
    Setting,
    SubjectPlan,
    TopicPlan,
)
from topicwarden.model.units import DURATION, unit_of
from topicwarden.report import display
from topicwarden.report.display import NOTHING, duration, one_line, size
from topicwarden.report.document import Column, Row, Table, Words, grid, line, named, number

_SPECIAL_VALUES: Final = {("retention.ms", "-1"): "-1 (no limit)", ("retention.bytes", "-1"): "-1 (no limit)"}
_MAX_CHANGES: Final = 3
_LONG_MAX: Final = str(2**63 - 1)
# Kafka's ConfigSource. A value of the topic itself needs no source.
_SOURCES: Final = {
    "DYNAMIC_TOPIC_CONFIG": "",
    "SERVICE": "set by the service",
    "DEFAULT_CONFIG": "Kafka's default",
    "STATIC_BROKER_CONFIG": "broker setting",
    "DYNAMIC_BROKER_CONFIG": "broker setting",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "cluster-wide default",
}


def value(name: str, text: str | None) -> str:
    """Return the value ``text`` of the setting ``name`` in readable units; a dash for None.

    ``text`` is in Kafka's notation.
    """
    if text is None:
        return NOTHING
    unit = unit_of(name)
    if unit is None or not text.isdecimal():
        return _SPECIAL_VALUES.get((name, text)) or one_line(text) or '""'
    if text == _LONG_MAX:
        return "unlimited"
    formatted = unit.format(int(text))
    if formatted.removesuffix("ms").isdecimal() and int(text) >= 1000:
        return f"{formatted} ({(duration if unit is DURATION else size)(int(text))})"
    return formatted


def live_value(setting: Setting) -> str:
    """Return the live value, with its source if it is not set on the topic itself."""
    source = _SOURCES.get(setting.source or "", "" if setting.source is None else one_line(setting.source))
    shown = value(setting.name, setting.live)
    if not source or setting.live is None:
        return shown
    return f"{shown[:-1]}, {source})" if shown.endswith(")") else f"{shown} ({source})"


def setting_changes(topic: TopicPlan | SubjectPlan) -> str:
    """Return the first changed settings: ``retention.ms 7d → 1d and 2 more``; empty for created and deleted topics."""
    if topic.action in (Action.CREATE, Action.DELETE):
        return ""
    changes = [(each.name, *_change(each, topic.action)) for each in ordered(topic.settings)]
    shown = [f"{name} {value(name, old)} → {value(name, new)}" for name, old, new in changes if old != new]
    return first_of(shown, _MAX_CHANGES)


def ordered(settings: list[Setting]) -> list[Setting]:
    """Return ``settings`` sorted: partitions and replication factor first, then Kafka's settings by name."""
    return sorted(settings, key=lambda each: (each.name not in ("partitions", "replication_factor"), each.name))


def _change(setting: Setting, action: Action) -> tuple[str | None, str | None]:
    """Return the value before and after the change."""
    if action is Action.DRIFT:
        return setting.deployed, setting.live
    return setting.deployed if setting.live is None else setting.live, setting.declared


_MAX_ROWS: Final = 5
_STATES: Final = ("declared", "deployed", "live")
_NUMBERS: Final = ("partition", "records", "bytes", "unread records, at most", "members")
_Effect = TypeVar("_Effect", PartitionEffect, GroupEffect)


def settings(topic: TopicPlan | SubjectPlan) -> Table | None:
    """Return one row for each setting, with columns for the declared, the deployed and the live values.

    States with equal values share a column, and a state without values has no column.
    """
    ordered_settings = ordered(topic.settings)
    columns: dict[tuple[str | None, ...], list[str]] = {}
    for state in _STATES:
        column = tuple(getattr(setting, state) for setting in ordered_settings)
        if any(cell is not None for cell in column):
            columns.setdefault(column, []).append(state)
    if not columns:
        return None
    headings = ("setting", *(" and ".join(states) for states in columns.values()))
    cells = [[setting.name for setting in ordered_settings]]
    for column, states in columns.items():
        if states == ["live"]:
            cells.append([live_value(setting) for setting in ordered_settings])
        else:
            cells.append([value(setting.name, cell) for setting, cell in zip(ordered_settings, column, strict=True)])
    rows = tuple(Row(tuple(map(line, row))) for row in zip(*cells, strict=True))
    return Table(tuple(map(named, headings)), rows, noun="setting")


def partitions(consequence: Consequence) -> Table | None:
    """Return the affected partitions with the most records."""
    effects = sorted(
        consequence.partitions, key=lambda each: (-(each.records or 0), -(each.bytes or 0), each.partition)
    )
    columns: dict[str, Callable[[PartitionEffect], str]] = {
        "partition": lambda each: str(each.partition),
        "records": lambda each: display.count(each.records),
        "bytes": lambda each: display.size(each.bytes),
        "offsets": lambda each: _range(each.first_offset, each.last_offset),
        "written (UTC)": lambda each: display.span(each.first_timestamp, each.last_timestamp),
        "replicas": lambda each: _replica_change(each.replicas_before, each.replicas_after),
    }
    return _table(effects, columns, "partition")


def groups(consequence: Consequence) -> Table | None:
    """Return the consumer groups and partitions with the most unread records."""
    effects = sorted(consequence.groups, key=lambda each: (-each.records, each.group, each.partition))
    columns: dict[str, Callable[[GroupEffect], str]] = {
        "group": lambda each: display.one_line(each.group),
        "partition": lambda each: str(each.partition),
        "unread records, at most": lambda each: display.count(each.records),
        "members": lambda each: display.count(each.members),
    }
    return _table(effects, columns, "row")


def _table(effects: Sequence[_Effect], columns: dict[str, Callable[[_Effect], str]], noun: str) -> Table | None:
    if not effects:
        return None
    shown = {name: cell for name, cell in columns.items() if {cell(each) for each in effects[:_MAX_ROWS]} != {NOTHING}}
    cells: dict[Column | str, Callable[[_Effect], Words]] = {
        (number if name in _NUMBERS else named)(name): cell for name, cell in shown.items()
    }
    columns_shown, rows = grid(effects[:_MAX_ROWS], cells)
    return Table(columns_shown, rows + (Row(()),) * (len(effects) - len(rows)), noun=noun, most=_MAX_ROWS)


def _range(first: int | None, last: int | None) -> str:
    if first is None or last is None:
        return NOTHING
    return f"{first}–{last}"


def _replica_change(before: list[int], after: list[int]) -> str:
    if not before and not after:
        return NOTHING
    return f"{_brokers(before)} → {_brokers(after)}" if after and after != before else _brokers(before or after)


def _brokers(replicas: list[int]) -> str:
    # Not sorted: the first replica is the preferred leader.
    return ", ".join(map(str, replicas)) or NOTHING
