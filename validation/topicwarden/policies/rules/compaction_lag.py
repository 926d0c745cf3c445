"""Reject a `min.compaction.lag.ms` above `max.compaction.lag.ms`.

Kafka refuses such a topic, with any cleanup policy (`LogConfig.validateValues`, KIP-354).
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import setting_text, value_text
from topicwarden.policies.rule import RuleSettings, RuleViolation

LEAST, GREATEST = "min.compaction.lag.ms", "max.compaction.lag.ms"

Settings = RuleSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    least, greatest = topic.number(LEAST), topic.number(GREATEST)
    if least is not None and greatest is not None and least > greatest:
        yield RuleViolation(
            ("config", LEAST),
            f"{setting_text(topic, LEAST, brokers)}, above {GREATEST} of {value_text(GREATEST, greatest)}: Kafka "
            f"refuses the topic; lower {LEAST}, or raise {GREATEST}",
        )
