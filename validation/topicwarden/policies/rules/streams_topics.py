"""Kafka Streams' own topics keep what the application needs.

A `-changelog` is a state store: it must compact (`UnwindowedUnchangedChangelogTopicConfig`), a windowed one
`compact,delete` (`WindowedChangelogTopicConfig`); with `delete` alone, state is lost on the first restore. A
`-repartition` topic is a queue whose records Streams itself deletes once they are processed
(`RepartitionTopicConfig`): it must not compact, and `retention.ms` must be -1, or what waits too long is lost.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup, number, said
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    path = ("config", "cleanup.policy")
    if topic.name.endswith("-changelog") and "compact" not in cleanup(topic):
        yield RuleViolation(
            path,
            f"{topic.name} is a changelog of Kafka Streams', and is not compacted: the state is lost with its old "
            "records; write cleanup.policy: compact, or [compact, delete] for a windowed store",
        )
    elif topic.name.endswith("-repartition"):
        if cleanup(topic) != {"delete"}:
            yield RuleViolation(
                path,
                f"{topic.name} is a repartition topic of Kafka Streams', and would lose records of one key that are "
                "not processed yet; write cleanup.policy: delete",
            )
        elif number(topic, "retention.ms", brokers) != -1:
            yield RuleViolation(
                ("config", "retention.ms"),
                f"{topic.name} is a repartition topic of Kafka Streams', and {said(topic, 'retention.ms', brokers)}: "
                "records are lost that wait longer; write retention.ms: -1, as Streams deletes them itself",
            )
