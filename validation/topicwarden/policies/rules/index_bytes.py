"""Reject a `segment.index.bytes` that is too small for two entries of an index.

An entry of the index of timestamps has 12 bytes, and one more entry is reserved (`TimeIndex.isFull`). Kafka accepts
values from 4 on. Below 12, the broker fails at the topic (`AbstractIndex`, "Invalid max index size"), and with it at
every other topic that is created or changed at the same time. Below 24, the broker dies at a record ("Attempt to append
to a full time index").

Example: `segment.index.bytes: 4`.
Remedy: remove the setting; the default of 10 MiB is allocated only as it is needed.
"""

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation

_SETTING: Final = "segment.index.bytes"
_LEAST: Final = 24

Settings = RuleSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    value = topic.number(_SETTING)
    if value is not None and value < _LEAST:
        yield RuleViolation(
            ("config", _SETTING),
            f"{_SETTING} is {value}: the index of timestamps needs {_LEAST} bytes, and the broker fails at the topic; "
            "remove the setting, or raise it",
        )
