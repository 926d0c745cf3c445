"""Recommend that Kafka Connect's internal topics are compacted only.

Kafka Connect stores the offsets, configurations and states of connectors by key, and only the last record of a key
counts. With `delete`, a connector loses its position. A worker refuses to start if the cleanup policy is not exactly
`compact` (`TopicAdmin.verifyTopicCleanupPolicyOnlyCompact`). It also refuses more than one partition for the
configurations, because their order matters (`KafkaConfigBackingStore`). The rule recognizes the topics by name,
`connect-offsets`, `eu-connect-cluster-configs`, `connect_status`, and a topic of another owner may have such a name: so
it only warns.

Remedy: write `cleanup.policy: compact`, and `partitions: 1` for the configurations.
"""

import re
from collections.abc import Iterable
from typing import Final

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup_policies
from topicwarden.policies.rule import AdviceSettings, RuleViolation

_NAME: Final = re.compile(r"(.*[-_.])?connect([-_.].+)?[-_.](offsets?|configs?|status(es)?)")

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    match = _NAME.fullmatch(topic.name) if "connect" in topic.name else None
    if not match:
        return
    if cleanup_policies(topic) != {"compact"}:
        yield RuleViolation(
            ("config", "cleanup.policy"),
            f"{topic.name} has the name of an internal topic of Kafka Connect, which refuses any cleanup.policy other "
            "than compact, because it would lose its state; write cleanup.policy: compact",
        )
    if match[3].startswith("config") and topic.partitions != 1:
        yield RuleViolation(
            ("partitions",),
            f"partitions: Kafka Connect requires 1 for its configurations, got {topic.partitions}; write 1",
        )
