"""The effective default of a setting for topics that do not set it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TypeVar

from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kafka_facts.configs import definition
from topicwarden.kafka_facts.services.profile import ServiceProfile

Defaults = TypeVar("Defaults")

_HOUR_MS, _MINUTE_MS = 3_600_000, 60_000
_COARSER_UNITS = {
    "retention.ms": (("log.retention.minutes", _MINUTE_MS), ("log.retention.hours", _HOUR_MS)),
    "segment.ms": (("log.roll.hours", _HOUR_MS),),
    "segment.jitter.ms": (("log.roll.jitter.hours", _HOUR_MS),),
}
"""Broker properties that apply if the property in milliseconds is not set, with their units in milliseconds."""


def once_for_all_topics(derive: Callable[[Snapshot, str], Defaults]) -> Callable[[Snapshot, str], Defaults]:
    """Return ``derive``, which is computed once for each snapshot and setting: a plan asks for each of its topics."""

    @wraps(derive)
    def derived(snapshot: Snapshot, setting: str) -> Defaults:
        key = derive.__name__, setting
        if key not in snapshot.derived:
            snapshot.derived[key] = derive(snapshot, setting)
        found: Defaults = snapshot.derived[key]
        return found

    return derived


@once_for_all_topics
def effective_defaults(snapshot: Snapshot, setting: str) -> frozenset[str]:
    """Return the values of ``setting`` for a topic that does not set it.

    Brokers may have different defaults, and each broker applies its own. Empty if access to the brokers' settings is
    denied and the service has documented no default, or if neither the brokers nor Kafka have a default.
    """
    values = {_broker_default(config, setting, snapshot.service) for config in snapshot.broker_configs.values()}
    documented = snapshot.service.default(setting, None)
    return frozenset(value for value in values or {documented} if value is not None)


@once_for_all_topics
def differing_defaults(snapshot: Snapshot, setting: str) -> Mapping[str, list[int]]:
    """Return the brokers by their default for ``setting``; empty if all brokers have the same default."""
    brokers: dict[str, list[int]] = {}
    for broker, config in sorted(snapshot.broker_configs.items()):
        value = _broker_default(config, setting, snapshot.service)
        if value is not None:
            brokers.setdefault(value, []).append(broker)
    return brokers if len(brokers) > 1 else {}


def _broker_default(config: Mapping[str, str], setting: str, service: ServiceProfile) -> str | None:
    setting_definition = definition(setting)
    if setting_definition is None:
        return None
    if setting_definition.server_default is not None and setting_definition.server_default in config:
        return config[setting_definition.server_default]
    for name, unit in _COARSER_UNITS.get(setting, ()):
        if name in config:
            return str(max(-1, int(config[name]) * unit))
    # A service that is not Apache Kafka may have a default that its brokers do not report.
    return service.default(setting, setting_definition.default if service.log.apache else None)
