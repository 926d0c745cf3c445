"""Require that the Schema Registry's `_schemas` topic is compacted only and has one partition.

The registry refuses to start otherwise (`KafkaStore.verifySchemaTopic`). With `delete`, all schemas are deleted after a
week by default, and consumers can no longer decode records.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup_policies
from topicwarden.policies.rule import RuleSettings, RuleViolation

Settings = RuleSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.name != "_schemas":
        return
    if cleanup_policies(topic) != {"compact"}:
        yield RuleViolation(
            ("config", "cleanup.policy"),
            "_schemas is the topic of the Schema Registry, which refuses any cleanup.policy other than compact, "
            "because schemas would be lost; write cleanup.policy: compact",
        )
    if topic.partitions != 1:
        yield RuleViolation(
            ("partitions",), f"partitions: the Schema Registry requires 1, got {topic.partitions}; write 1"
        )
