"""Warn about durations and sizes that are so small that the unit is probably missing.

`retention.ms: 7` means seven milliseconds. Kafka accepts the value without a warning, and deletes records almost as
soon as they are written. The same applies to `0`, and to sizes that are too small for a record. The rule checks
declared values: `retention.ms` and `local.retention.ms` below a minute, `segment.ms` and `max.compaction.lag.ms` below
100 milliseconds, `retention.bytes` and `local.retention.bytes` below a KiB, `max.message.bytes` below 128 bytes. Local
retention counts only with tiered storage.

Example: `retention.ms: 7` instead of seven days.
Remedy: write the unit: `7d`.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.model.units import DURATION, unit_of
from topicwarden.policies.effective_values import cleanup_policies, value_text
from topicwarden.policies.rule import AdviceSettings, RuleViolation

_DELETED: Final = "records are deleted as soon as their segment is closed"
_LEAST: Final = {
    "retention.ms": (60_000, _DELETED),
    "local.retention.ms": (60_000, "closed segments are deleted from the brokers' disks at once"),
    "retention.bytes": (1024, _DELETED),
    "local.retention.bytes": (1024, "closed segments are deleted from the brokers' disks at once"),
    "segment.ms": (100, "almost every record batch gets its own segment of three or more files"),
    "max.compaction.lag.ms": (100, "the log is always due for compaction"),
    "max.message.bytes": (128, "the broker refuses almost every batch of records"),
}

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for name, (least, effect) in _LEAST.items():
        value = topic.number(name)
        if value is None or not 0 <= value < least or ("retention" in name and "delete" not in cleanup_policies(topic)):
            continue
        if name.startswith("local.") and topic.config.get("remote.storage.enable") != "true":
            continue
        units = "7d or 36h" if unit_of(name) is DURATION else "10GiB or 1MiB"
        yield RuleViolation(
            ("config", name),
            f"{name} is {_value_text(name, value)}: {effect}; if you mean a different unit, write it: {units}",
        )


def _value_text(name: str, value: int) -> str:
    if unit_of(name) is DURATION:
        return value_text(name, value) if value else "0 milliseconds"
    return f"{value} byte{'' if value == 1 else 's'}"
