"""Limit the size of records.

The rule limits `max.message.bytes`, the maximum size of a record batch as it arrives. If it is not declared, the
brokers' `message.max.bytes` applies (`topicwarden:brokerMessageMaxBytes`), else the service's or Kafka's default, which
is 1048588 bytes. With `declared: true`, topics must also declare `contents.records.max_bytes`. The audit compares the
records with this limit.

Example: `record-size: {max: 2MiB, declared: true}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Flag, Size
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import default_note, effective_number, outside, value_text
from topicwarden.policies.rule import RuleSettings, RuleViolation

SETTING = "max.message.bytes"


class Settings(RuleSettings):
    max: Size | None = Field(default=None, description="The maximum of `max.message.bytes`.")
    declared: Flag = Field(default=False, description="`true`: `contents.records.max_bytes` must be declared.")


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    largest = effective_number(topic, SETTING, brokers)
    seen = value_text(SETTING, largest) + default_note(topic, SETTING, brokers)
    for message in outside(SETTING, largest, seen, None, settings.max):
        yield RuleViolation(("config", SETTING), message)
    if settings.declared and topic.contents.records.max_bytes is None:
        path = ("contents", "records", "max_bytes")
        message = f"{topic.name} does not declare the maximum size of its records; write contents.records.max_bytes"
        yield RuleViolation(path, message, default="contents: {records: {max_bytes: SIZE}}")
