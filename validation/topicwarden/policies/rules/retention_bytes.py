"""Limit the disk space of a topic.

The rule applies to `retention.bytes` of topics that delete. Kafka applies this setting to each partition. If it is not
declared, the default of the service or of Kafka applies, which is unlimited (-1) in Kafka. `max_topic` limits the sum
of all partitions, with one replica of each.

Example: `retention-bytes: {max: 50GiB, max_topic: 500GiB}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Size
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup_policies, default_note, effective_number, outside, value_text
from topicwarden.policies.rule import RuleSettings, RuleViolation

SETTING = "retention.bytes"


class Settings(RuleSettings):
    min: Size | None = Field(default=None, description="The minimum for one partition.")
    max: Size | None = Field(default=None, description="The maximum for one partition.")
    max_topic: Size | None = Field(default=None, description="The maximum for all partitions of a topic together.")


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if "delete" not in cleanup_policies(topic):
        return
    path, limit = ("config", SETTING), effective_number(topic, SETTING, brokers)
    got = "unlimited (-1)" if limit < 0 else value_text(SETTING, limit)
    got += default_note(topic, SETTING, brokers)
    for message in outside(SETTING, limit, got, settings.min, settings.max):
        yield RuleViolation(path, message)
    if settings.max_topic is not None and not 0 <= limit * topic.partitions <= settings.max_topic:
        yield RuleViolation(
            path,
            f"{SETTING}: expected at most {value_text(SETTING, settings.max_topic)} for all partitions together, "
            f"got {topic.partitions} times {got}",
        )
