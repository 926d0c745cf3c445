"""Reject a local retention above the total retention of a topic with tiered storage.

With tiered storage, Kafka refuses a `local.retention.ms` above `retention.ms`. It also refuses a `local.retention.ms`
of -1 if `retention.ms` is not -1. The same applies to `local.retention.bytes`
(`LogConfig.validateRemoteStorageRetentionTime`, `validateRemoteStorageRetentionSize`, KIP-405).
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import effective_number, setting_text, value_text
from topicwarden.policies.rule import RuleSettings, RuleViolation


class Settings(RuleSettings):
    pass


ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.config.get("remote.storage.enable") != "true":
        return
    for total_name in ("retention.ms", "retention.bytes"):
        name = f"local.{total_name}"
        local, total = topic.number(name), effective_number(topic, total_name, brokers)
        if local is not None and total >= 0 and (local > total or local == -1):
            yield RuleViolation(
                ("config", name),
                f"{name} is {value_text(name, local)}, and {setting_text(topic, total_name, brokers)}: Kafka refuses "
                f"a local retention above the total; lower {name}, or write -2 to use {total_name}",
            )
