"""Warn if the declared timestamp type of the records differs from the topic's setting.

`contents.timestamps.type` is the type that consumers expect. `message.timestamp.type`, by default `CreateTime`, is the
type that the broker stores. With `LogAppendTime`, the broker overwrites the producer's timestamp, and ignores
`message.timestamp.before.max.ms` and `message.timestamp.after.max.ms` (KIP-32, `LogValidator`).
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation

SETTING = "message.timestamp.type"
_BOUNDS = (
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
    "message.timestamp.difference.max.ms",
)

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    declared, effective = topic.contents.timestamps.type, topic.config.get(SETTING, "CreateTime")
    if declared is not None and declared != effective:
        default = "" if SETTING in topic.config else ", Kafka's default"
        yield RuleViolation(
            ("contents", "timestamps", "type"),
            f"contents.timestamps.type is {declared}, but {SETTING} is {effective}{default}; set both to the same type",
        )
    if effective == "LogAppendTime":
        for name in _BOUNDS:
            if name in topic.config:
                yield RuleViolation(
                    ("config", name), f"{name} has no effect, because {SETTING} is LogAppendTime; delete it"
                )
