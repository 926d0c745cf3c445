"""Reject a `contents.timestamps.max_ahead` that allows timestamps which the broker refuses.

A broker refuses a record whose timestamp is further ahead of its clock than `message.timestamp.after.max.ms`
(`INVALID_TIMESTAMP`, `LogValidator`, KIP-937). The default is one hour since Kafka 4.0 (KIP-1030). So
`contents.timestamps.max_ahead` must not be above this setting. Before Kafka 4.0, it has no limit by default; then
`message.timestamp.difference.max.ms` is the limit (`LogConfig.getMessageTimestampAfterMaxMs`).

Remedy: lower `max_ahead`, or raise the setting.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.configs import definition
from topicwarden.model.topic import Topic
from topicwarden.model.units import LONG_MAX
from topicwarden.policies.effective_values import effective_number, setting_text, value_text
from topicwarden.policies.rule import RuleSettings, RuleViolation

AFTER, DIFFERENCE = "message.timestamp.after.max.ms", "message.timestamp.difference.max.ms"

Settings = RuleSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    ahead = topic.contents.timestamps.max_ahead
    if ahead is None or topic.config.get("message.timestamp.type") == "LogAppendTime":
        return
    unlimited = effective_number(topic, AFTER, brokers) == LONG_MAX
    name = DIFFERENCE if unlimited and definition(DIFFERENCE, brokers.kafka) else AFTER
    if ahead > effective_number(topic, name, brokers):
        yield RuleViolation(
            ("contents", "timestamps", "max_ahead"),
            f"records may be {value_text(name, ahead)} ahead, and {setting_text(topic, name, brokers)}: the broker "
            f"refuses records between these limits; lower max_ahead, or raise {name}",
        )
