"""Records keep to a size that brokers and readers bear.

Judges `max.message.bytes`, the largest batch as it arrives, and with `declared` asks for `contents.records.max_bytes`,
which the audit holds the records to. Kafka's default of 1048588 bytes counts where `max.message.bytes` is not declared.

Example: `record-size: {max: 2MiB, declared: true}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import number, spelled
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.document_model import Flag, Size

SETTING = "max.message.bytes"


class Settings(RuleSettings):
    max: Size | None = Field(default=None, description="The most that `max.message.bytes` may be.")
    declared: Flag = Field(default=False, description="Whether `contents.records.max_bytes` must be declared.")


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    largest = number(topic, SETTING, brokers)
    if settings.max is not None and largest > settings.max:
        seen = spelled(SETTING, largest) + ("" if SETTING in topic.config else ", Kafka's default")
        yield RuleViolation(
            ("config", SETTING), f"{SETTING}: expected at most {spelled(SETTING, settings.max)}, seen {seen}"
        )
    if settings.declared and topic.contents.record_max_bytes is None:
        path = ("contents", "records", "max_bytes")
        yield RuleViolation(
            path, f"{topic.name} does not say how large its records are; write contents.records.max_bytes"
        )
