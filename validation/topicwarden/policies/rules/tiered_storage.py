"""Reject settings that conflict with tiered storage.

With `remote.storage.enable: true`, Kafka refuses `compact` in the cleanup policy
(`LogConfig.validateRemoteStorageRequiresDeleteCleanupPolicy`, KIP-405). With `remote.log.copy.disable: true`, it also
refuses a local retention that differs from the total retention (`validateRetentionConfigsWhenRemoteCopyDisabled`,
KIP-950). Without tiered storage, settings for local retention have no effect, which is a warning.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.problem import Level
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup_policies
from topicwarden.policies.rule import RuleSettings, RuleViolation

ENABLE, COPY_DISABLE = "remote.storage.enable", "remote.log.copy.disable"
_PAIRS = (("local.retention.ms", "retention.ms"), ("local.retention.bytes", "retention.bytes"))
_SAME_AS_TOTAL = "-2"


class Settings(RuleSettings):
    pass


ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.config.get(ENABLE) != "true":
        for name, _ in _PAIRS:
            if topic.config.get(name, _SAME_AS_TOTAL) != _SAME_AS_TOTAL and "delete" in cleanup_policies(topic):
                message = f"{name} has no effect without tiered storage; delete it, or write {ENABLE}: true"
                yield RuleViolation(("config", name), message, Level.WARNING)
        return
    if "compact" in cleanup_policies(topic):
        yield RuleViolation(
            ("config", ENABLE),
            f"{ENABLE} is true and cleanup.policy contains compact: Kafka refuses the topic; remove one of them",
        )
    if topic.config.get(COPY_DISABLE) == "true":
        for name, total_name in _PAIRS:
            local = topic.config.get(name, _SAME_AS_TOTAL)
            if local not in (_SAME_AS_TOTAL, topic.config.get(total_name, brokers.default(total_name))):
                yield RuleViolation(
                    ("config", name),
                    f"{COPY_DISABLE} is true and {name} differs from {total_name}: Kafka refuses the topic, because "
                    f"it no longer copies segments to remote storage; delete {name}",
                )
