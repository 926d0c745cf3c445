"""What a setting comes to where a topic does not set it."""

from __future__ import annotations

from collections.abc import Mapping

from topicwarden.kafka.snapshot import Snapshot
from topicwarden.specs.configs import definition

_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000
_COARSER = {
    "retention.ms": (("log.retention.minutes", _MINUTE_MS), ("log.retention.hours", _HOUR_MS)),
    "segment.ms": (("log.roll.hours", _HOUR_MS),),
    "segment.jitter.ms": (("log.roll.jitter.hours", _HOUR_MS),),
}
"""The broker's properties that hold where its own in milliseconds is not set, and their units."""


def defaults_in_force(snapshot: Snapshot, setting: str) -> frozenset[str]:
    """Return the values of ``setting`` on a topic that does not set it: brokers may differ, and each applies its own.

    Empty where no broker's settings may be seen, or where neither the brokers nor Kafka have a value.
    """
    found = (_of_broker(config, setting) for config in snapshot.broker_configs.values())
    return frozenset(value for value in found if value is not None)


def differing_defaults(snapshot: Snapshot, setting: str) -> dict[str, list[int]]:
    """Return the brokers by their default for ``setting``, if they do not all have the same; else nothing."""
    brokers: dict[str, list[int]] = {}
    for broker, config in sorted(snapshot.broker_configs.items()):
        value = _of_broker(config, setting)
        if value is not None:
            brokers.setdefault(value, []).append(broker)
    return brokers if len(brokers) > 1 else {}


def _of_broker(config: Mapping[str, str], setting: str) -> str | None:
    known = definition(setting)
    if known is None:
        return None
    if known.server_default is not None and known.server_default in config:
        return config[known.server_default]
    for name, unit in _COARSER.get(setting, ()):
        if name in config:
            return str(max(-1, int(config[name]) * unit))
    return known.default
