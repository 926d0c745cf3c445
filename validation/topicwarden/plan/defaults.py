"""What a setting comes to where a topic does not set it."""

from __future__ import annotations

from topicwarden.kafka.snapshot import SET_ON_TOPIC, Snapshot
from topicwarden.specs.configs import definition

_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000
_COARSER = {
    "retention.ms": (("log.retention.minutes", _MINUTE_MS), ("log.retention.hours", _HOUR_MS)),
    "segment.ms": (("log.roll.hours", _HOUR_MS),),
    "segment.jitter.ms": (("log.roll.jitter.hours", _HOUR_MS),),
}
"""The broker's properties that hold where its own in milliseconds is not set, and their units."""


def default_in_force(snapshot: Snapshot, setting: str) -> str | None:
    """The value of ``setting`` on a topic that does not set it; None where neither brokers nor Kafka have one.

    A live topic that does not set it shows the value itself; else it is the broker's property, and Kafka's default.
    """
    for live in snapshot.topics.values():
        if live.sources.get(setting, SET_ON_TOPIC) != SET_ON_TOPIC and setting in live.topic.config:
            return live.topic.config[setting]
    known = definition(setting)
    if known is None:
        return None
    if known.server_default is not None and known.server_default in snapshot.broker_config:
        return snapshot.broker_config[known.server_default]
    for name, unit in _COARSER.get(setting, ()):
        if name in snapshot.broker_config:
            return str(max(-1, int(snapshot.broker_config[name]) * unit))
    return known.default
