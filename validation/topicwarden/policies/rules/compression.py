"""Restrict the compression types that topics may have.

If `compression.type` is not declared, the rule uses Kafka's default, `producer`.

Example: `compression: {allowed: [producer, zstd]}`
"""

from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation

SETTING = "compression.type"
Codec = Literal["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]


class Settings(RuleSettings):
    allowed: list[Codec] = Field(
        default=["zstd", "lz4", "snappy", "gzip", "producer"], description="The allowed values of `compression.type`."
    )


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.config.get(SETTING, "producer") not in settings.allowed:
        got = topic.config.get(SETTING, "producer, Kafka's default")
        yield RuleViolation(("config", SETTING), f"{SETTING}: expected one of {', '.join(settings.allowed)}, got {got}")
