"""Warn about retention settings on a topic that is only compacted.

`retention.ms`, `retention.bytes`, `local.retention.ms` and `local.retention.bytes` have no effect on a topic without
`delete` in its `cleanup.policy` (`UnifiedLog.deleteOldSegments`). Records stay until a later record with the same key
supersedes them. Do not rely on these settings to delete data, for example for legal reasons. The rule does not warn
about `-1`, which means no limit.

Remedy: delete the setting, or write `cleanup.policy: [compact, delete]`.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup_policies
from topicwarden.policies.rule import AdviceSettings, RuleViolation

SETTINGS = ("retention.ms", "retention.bytes", "local.retention.ms", "local.retention.bytes")

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if cleanup_policies(topic) != {"compact"}:
        return
    for name in SETTINGS:
        value = topic.number(name)
        if value is not None and value >= 0:
            yield RuleViolation(
                ("config", name),
                f"{name} has no effect, because cleanup.policy is compact: records stay until a later record has the "
                f"same key; delete {name}, or write cleanup.policy: [compact, delete]",
            )
