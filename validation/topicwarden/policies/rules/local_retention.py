"""What is kept on the brokers' own disks is not more than what is kept at all.

With tiered storage Kafka refuses a `local.retention.ms` above `retention.ms`, or -1 where that is not, and the same in
bytes (`LogConfig.validateRemoteStorageRetentionTime`, `validateRemoteStorageRetentionSize`, KIP-405).
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import number, said, spelled
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.config.get("remote.storage.enable") != "true":
        return
    for whole in ("retention.ms", "retention.bytes"):
        name = f"local.{whole}"
        local, kept = topic.number(name), number(topic, whole, brokers)
        if local is not None and kept >= 0 and (local > kept or local == -1):
            yield RuleViolation(
                ("config", name),
                f"{name} is {spelled(name, local)}, and {said(topic, whole, brokers)}: Kafka refuses the topic, as no "
                "more can be kept locally than in all; lower it, or write -2 for the same",
            )
