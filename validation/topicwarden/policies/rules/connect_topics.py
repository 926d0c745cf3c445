"""Kafka Connect's own topics keep what the workers wrote.

Offsets, configurations and states of connectors are the last word by key, so the topics must compact and nothing else:
with `delete` a connector forgets where it was. A worker refuses to start otherwise
(`TopicAdmin.verifyTopicCleanupPolicyOnlyCompact`), and with more than one partition of the configurations, whose order
counts (`KafkaConfigBackingStore`). They are known by their names: `connect-offsets`, `eu-connect-cluster-configs`,
`connect_status`.

Remedy: `cleanup.policy: compact`, and `partitions: 1` for the configurations.
"""

import re
from collections.abc import Iterable
from typing import Final

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

_NAME: Final = re.compile(r"(.*[-_.])?connect([-_.].+)?[-_.](offsets?|configs?|status(es)?)")


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    found = _NAME.fullmatch(topic.name) if "connect" in topic.name else None
    if not found:
        return
    if cleanup(topic) != {"compact"}:
        yield RuleViolation(
            ("config", "cleanup.policy"),
            f"{topic.name} is a topic of Kafka Connect's, which refuses any cleanup.policy but compact, as its state "
            "would be lost; write cleanup.policy: compact",
        )
    if found[3].startswith("config") and topic.partitions != 1:
        yield RuleViolation(
            ("partitions",),
            f"partitions: Kafka Connect takes only 1 for its configurations, seen {topic.partitions}; write 1",
        )
