"""The Schema Registry's `_schemas` keeps every schema, in order.

It must compact and nothing else, and have one partition, or the registry refuses to start
(`KafkaStore.verifySchemaTopic`); with `delete` all schemas are gone after a week, and no consumer can read any more.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if topic.name != "_schemas":
        return
    if cleanup(topic) != {"compact"}:
        yield RuleViolation(
            ("config", "cleanup.policy"),
            "_schemas is the Schema Registry's, which refuses any cleanup.policy but compact, as schemas would be "
            "lost; write cleanup.policy: compact",
        )
    if topic.partitions != 1:
        yield RuleViolation(
            ("partitions",), f"partitions: the Schema Registry takes only 1, seen {topic.partitions}; write 1"
        )
