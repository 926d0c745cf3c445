"""The Schema Registry's `_schemas` keeps every schema, in order.

It must compact and nothing else, and have one partition, or the registry refuses to start
(`KafkaStore.verifySchemaTopic`); with `delete` all schemas are gone after a week, and no consumer can read any more.
"""

from collections.abc import Iterable

from topicwarden.policies.effective import cleanup
from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.brokers import Brokers
from topicwarden.topic import Topic


class Settings(RuleSettings):
    pass


ALWAYS = Settings()


def judge(topic: Topic, settings: Settings, brokers: Brokers) -> Iterable[Complaint]:
    if topic.name != "_schemas":
        return
    if cleanup(topic) != {"compact"}:
        yield Complaint(
            ("config", "cleanup.policy"),
            "_schemas is the Schema Registry's, which refuses any cleanup.policy but compact, as schemas would be "
            "lost; write cleanup.policy: compact",
        )
    if topic.partitions != 1:
        yield Complaint(
            ("partitions",), f"partitions: the Schema Registry takes only 1, seen {topic.partitions}; write 1"
        )
