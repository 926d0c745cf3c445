"""The least lag before compaction is not above the greatest.

Kafka refuses `min.compaction.lag.ms` above `max.compaction.lag.ms`, whatever the cleanup policy
(`LogConfig.validateValues`, KIP-354).
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import said, spelled
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings

LEAST, GREATEST = "min.compaction.lag.ms", "max.compaction.lag.ms"


class Settings(RuleSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    least, greatest = topic.number(LEAST), topic.number(GREATEST)
    if least is not None and greatest is not None and least > greatest:
        yield RuleViolation(
            ("config", LEAST),
            f"{said(topic, LEAST, brokers)}, above {GREATEST} of {spelled(GREATEST, greatest)}: Kafka refuses the "
            "topic; lower one or raise the other",
        )
