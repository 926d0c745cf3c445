"""No record is refused for a timestamp that is declared lawful.

A broker refuses a record that is further ahead of its clock than `message.timestamp.after.max.ms`
(`INVALID_TIMESTAMP`, `LogValidator`, KIP-937), which is one hour by default since Kafka 4.0 (KIP-1030). So
`contents.timestamps.max_ahead` must not be above it, or above `message.timestamp.difference.max.ms` where an old Kafka
has that.

Remedy: lower `max_ahead`, or raise the setting.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import number, said, spelled
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

AFTER, DIFFERENCE = "message.timestamp.after.max.ms", "message.timestamp.difference.max.ms"


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    ahead = topic.contents.timestamp_max_ahead_ms
    if ahead is None or topic.config.get("message.timestamp.type") == "LogAppendTime":
        return
    for name in (AFTER, DIFFERENCE):
        if (name == AFTER or name in topic.config) and ahead > number(topic, name, brokers):
            yield RuleViolation(
                ("contents", "timestamps", "max_ahead"),
                f"records may be {spelled(name, ahead)} ahead, and {said(topic, name, brokers)}: the broker refuses "
                "what lies between; lower max_ahead, or raise the setting",
            )
