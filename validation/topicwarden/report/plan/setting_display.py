"""Format settings for people: ``7d`` for Kafka's 604800000. Values remain exact."""

from __future__ import annotations

from typing import Final

from topicwarden.model.planned_change import Action, Setting, TopicPlan
from topicwarden.model.units import DURATION, unit_of
from topicwarden.report.display import NOTHING, duration, one_line, size

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


def setting_changes(topic: TopicPlan) -> str:
    """Return the first changed settings: ``retention.ms 7d → 1d, and 2 more``; empty for created and deleted topics."""
    if topic.action in (Action.CREATE, Action.DELETE):
        return ""
    changes = [(each.name, *_change(each, topic.action)) for each in ordered(topic.settings)]
    shown = [f"{name} {value(name, old)} → {value(name, new)}" for name, old, new in changes if old != new]
    more = [f"and {len(shown) - _MAX_CHANGES:,} more"] if len(shown) > _MAX_CHANGES else []
    return ", ".join(shown[:_MAX_CHANGES] + more)


def ordered(settings: list[Setting]) -> list[Setting]:
    """Return ``settings`` sorted: partitions and replication factor first, then Kafka's settings by name."""
    return sorted(settings, key=lambda each: (each.name not in ("partitions", "replication_factor"), each.name))


def _change(setting: Setting, action: Action) -> tuple[str | None, str | None]:
    """Return the value before and after the change."""
    if action is Action.DRIFT:
        return setting.deployed, setting.live
    return setting.deployed if setting.live is None else setting.live, setting.declared
