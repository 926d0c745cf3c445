"""Limit how long records are kept.

The rule applies to `retention.ms` of topics that delete by time. If it is not declared, the default
of the service or of Kafka applies, seven days.

Example: `retention: {max: 30d}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Duration
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup_policies, default_note, effective_number, outside, value_text
from topicwarden.policies.rule import RuleSettings, RuleViolation

SETTING = "retention.ms"


class Settings(RuleSettings):
    min: Duration = Field(default=0, description="The minimum retention.")
    max: Duration | None = Field(
        default=None, description="The maximum retention; forever (-1) is above every maximum."
    )


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if "delete" not in cleanup_policies(topic):
        return
    retention = effective_number(topic, SETTING, brokers)
    seen = "forever (-1)" if retention < 0 else value_text(SETTING, retention)
    seen += default_note(topic, SETTING, brokers)
    for message in outside(SETTING, retention, seen, settings.min, settings.max):
        yield RuleViolation(("config", SETTING), message)
