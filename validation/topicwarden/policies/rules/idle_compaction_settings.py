"""Warn about compaction settings on a topic that is not compacted.

Only the log cleaner reads `delete.retention.ms`, `min.compaction.lag.ms`, `max.compaction.lag.ms` and
`min.cleanable.dirty.ratio`. It skips topics without `compact` in their `cleanup.policy` (`LogCleanerManager`). Kafka
accepts the settings, but they have no effect. Either the settings or the policy are probably a mistake.

Remedy: delete the setting, or add `compact` to `cleanup.policy`.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup_policies
from topicwarden.policies.rule import AdviceSettings, RuleViolation

SETTINGS = ("delete.retention.ms", "min.compaction.lag.ms", "max.compaction.lag.ms", "min.cleanable.dirty.ratio")

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if "compact" in cleanup_policies(topic):
        return
    for name in SETTINGS:
        if name in topic.config:
            policy = topic.config.get("cleanup.policy", "delete, Kafka's default") or "empty"
            yield RuleViolation(
                ("config", name),
                f"{name} has no effect, because cleanup.policy is {policy}; delete {name}, or add compact to "
                "cleanup.policy",
            )
