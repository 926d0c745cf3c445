"""Settings as people read them: ``7d`` for Kafka's 604800000, exact where that can be said shortly."""

from __future__ import annotations

from typing import Final

from topicwarden.model.planned_change import Action, Setting, TopicPlan
from topicwarden.report.display import NOTHING, duration, one_line, size
from topicwarden.specs.units import DURATION, unit_of

_WORDS: Final = {("retention.ms", "-1"): "-1 (for ever)", ("retention.bytes", "-1"): "-1 (no limit)"}
_BRIEF: Final = 3
_BOUNDLESS: Final = str(2**63 - 1)
# Kafka's ConfigSource; of a topic's own there is nothing to add.
_SOURCES: Final = {
    "DYNAMIC_TOPIC_CONFIG": "",
    "DEFAULT_CONFIG": "Kafka's default",
    "STATIC_BROKER_CONFIG": "the broker's",
    "DYNAMIC_BROKER_CONFIG": "the broker's",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "the cluster's",
}


def value(name: str, text: str | None) -> str:
    """``text``, as Kafka spells the setting ``name``, in human units; a dash where there is none."""
    if text is None:
        return NOTHING
    unit = unit_of(name)
    if unit is None or not text.isdecimal():
        return _WORDS.get((name, text)) or one_line(text) or '""'
    if text == _BOUNDLESS:
        return "without bound"
    spelled = unit.format(int(text))
    if spelled.removesuffix("ms").isdecimal() and int(text) >= 1000:
        return f"{spelled} ({(duration if unit is DURATION else size)(int(text))})"
    return spelled


def live(setting: Setting) -> str:
    """The value in force, and where it comes from unless it is the topic's own."""
    source = _SOURCES.get(setting.source or "", "" if setting.source is None else one_line(setting.source))
    shown = value(setting.name, setting.live)
    if not source or setting.live is None:
        return shown
    return f"{shown[:-1]}, {source})" if shown.endswith(")") else f"{shown} ({source})"


def brief(topic: TopicPlan) -> str:
    """What changes, in a few words: ``retention.ms 7d → 1d, and 2 more``; empty where the action tells it all."""
    if topic.action in (Action.CREATE, Action.DELETE):
        return ""
    moves = [(each.name, *_move(each, topic.action)) for each in ordered(topic.settings)]
    shown = [f"{name} {value(name, old)} → {value(name, new)}" for name, old, new in moves if old != new]
    more = [f"and {len(shown) - _BRIEF:,} more"] if len(shown) > _BRIEF else []
    return ", ".join(shown[:_BRIEF] + more)


def ordered(settings: list[Setting]) -> list[Setting]:
    """Partitions and replication factor first, then Kafka's configurations by name."""
    return sorted(settings, key=lambda each: (each.name not in ("partitions", "replication_factor"), each.name))


def _move(setting: Setting, action: Action) -> tuple[str | None, str | None]:
    if action is Action.DRIFT:
        return setting.deployed, setting.live
    return setting.deployed if setting.live is None else setting.live, setting.declared
