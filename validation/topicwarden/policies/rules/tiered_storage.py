"""Tiered storage is asked for only where Kafka gives it.

With `remote.storage.enable: true` Kafka refuses `compact` in the cleanup policy
(`LogConfig.validateRemoteStorageRequiresDeleteCleanupPolicy`, KIP-405), and with `remote.log.copy.disable: true` a
local retention other than the whole one (`validateRetentionConfigsWhenRemoteCopyDisabled`, KIP-950). Without it, what
only tiered storage heeds has no effect, a warning.
"""

from collections.abc import Iterable

from topicwarden.model.problem import Level
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

ENABLE, COPY_DISABLE = "remote.storage.enable", "remote.log.copy.disable"
_PAIRS = (("local.retention.ms", "retention.ms"), ("local.retention.bytes", "retention.bytes"))
_AS_WHOLE = "-2"


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.config.get(ENABLE) != "true":
        for name, _ in _PAIRS:
            if topic.config.get(name, _AS_WHOLE) != _AS_WHOLE and "delete" in cleanup(topic):
                message = f"{name} has no effect without tiered storage; delete it, or write {ENABLE}: true"
                yield RuleViolation(("config", name), message, Level.WARNING)
        return
    if "compact" in cleanup(topic):
        yield RuleViolation(
            ("config", ENABLE),
            f"{ENABLE} is true and cleanup.policy has compact: Kafka refuses the topic; give up one of them",
        )
    if topic.config.get(COPY_DISABLE) == "true":
        for name, whole in _PAIRS:
            local = topic.config.get(name, _AS_WHOLE)
            if local not in (_AS_WHOLE, topic.config.get(whole, brokers.default(whole))):
                yield RuleViolation(
                    ("config", name),
                    f"{COPY_DISABLE} is true and {name} is not {whole}: Kafka refuses the topic, as nothing is copied "
                    f"any more; delete {name}",
                )
