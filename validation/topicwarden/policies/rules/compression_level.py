"""Warn about a compression level for a codec that is not in use.

`compression.gzip.level`, `compression.lz4.level` and `compression.zstd.level` only have an effect if the broker
compresses with this codec, that is, if `compression.type` names it (KIP-390). With the default, `producer`, the
producer's own level applies.

Remedy: set `compression.type` to the codec, or delete the level.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation

CODECS = ("gzip", "lz4", "zstd")

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for codec in CODECS:
        name = f"compression.{codec}.level"
        if name in topic.config and topic.config.get("compression.type") != codec:
            value = topic.config.get("compression.type", "producer, Kafka's default")
            yield RuleViolation(
                ("config", name),
                f"{name} has no effect, because compression.type is {value}; write compression.type: {codec}, or "
                f"delete {name}",
            )
