"""Reject a `segment.index.bytes` that is too small for one entry of an index.

An entry of the index of timestamps has 12 bytes (`TimeIndex`), one of the index of offsets 8 (`OffsetIndex`). Kafka
accepts values from 4 on. Then the broker fails at the topic (`AbstractIndex`, "Invalid max index size"), and with it at
every other topic that is created or changed at the same time.

Example: `segment.index.bytes: 4`.
Remedy: remove the setting; the default of 10 MiB is allocated only as it is needed.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation

_SETTING: Final = "segment.index.bytes"
_ENTRY_BYTES: Final = 12


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    value = topic.number(_SETTING)
    if value is not None and value < _ENTRY_BYTES:
        yield RuleViolation(
            ("config", _SETTING),
            f"{_SETTING} is {value}: an index entry has {_ENTRY_BYTES} bytes, and the broker fails at the topic; "
            "remove the setting, or raise it",
        )
