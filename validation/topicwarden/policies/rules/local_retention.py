"""Reject a local retention above the total one of a topic with tiered storage, and a copy lag above the local one.

With tiered storage, Kafka refuses a `local.retention.ms` above `retention.ms`. It also refuses a `local.retention.ms`
of -1 if `retention.ms` is not -1. The same applies to `local.retention.bytes`
(`LogConfig.validateRemoteStorageRetentionTime`, `validateRemoteStorageRetentionSize`, KIP-405).

Kafka 4.4 and later refuse a `remote.copy.lag.ms` above the local retention, which is `retention.ms` if
`local.retention.ms` is -2. The same applies to `remote.copy.lag.bytes` (KIP-1241).
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import effective_number, setting_text, value_text
from topicwarden.policies.rule import RuleSettings, RuleViolation

_TOTAL = -2
"""The local retention, also by default, that is equal to the total retention."""


class Settings(RuleSettings):
    pass


ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.config.get("remote.storage.enable") != "true":
        return
    for total_name in ("retention.ms", "retention.bytes"):
        name, lag_name = f"local.{total_name}", total_name.replace("retention", "remote.copy.lag")
        local, total = topic.number(name), effective_number(topic, total_name, brokers)
        if local is not None and total >= 0 and (local > total or local == -1):
            yield RuleViolation(
                ("config", name),
                f"{name} is {value_text(name, local)}, and {setting_text(topic, total_name, brokers)}: Kafka refuses "
                f"a local retention above the total; lower {name}, or write -2 to use {total_name}",
            )
        lag, limit_name = topic.number(lag_name), total_name if local in (None, _TOTAL) else name
        if lag is not None and 0 <= effective_number(topic, limit_name, brokers) < lag:
            yield RuleViolation(
                ("config", lag_name),
                f"{lag_name} is {value_text(lag_name, lag)}, and {setting_text(topic, limit_name, brokers)}: Kafka "
                f"refuses a copy lag above the local retention; lower {lag_name}, or write -1 to use the local "
                "retention",
            )
