"""Records are kept no longer, and no shorter, than the house allows.

Judges `retention.ms` of topics that delete by time; where it is not declared, Kafka's default of seven days.

Example: `retention: {max: 30d}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup, number, spelled
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.document_model import Duration

SETTING = "retention.ms"


class Settings(RuleSettings):
    min: Duration = Field(default=0, description="The shortest it may be.")
    max: Duration | None = Field(default=None, description="The longest it may be; for ever (-1) is longer than any.")


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if "delete" not in cleanup(topic):
        return
    retention = number(topic, SETTING, brokers)
    seen = "for ever (-1)" if retention < 0 else spelled(SETTING, retention)
    seen += "" if SETTING in topic.config else ", Kafka's default"
    if settings.max is not None and not 0 <= retention <= settings.max:
        bound = spelled(SETTING, settings.max)
        yield RuleViolation(("config", SETTING), f"{SETTING}: expected at most {bound}, seen {seen}")
    if 0 <= retention < settings.min:
        bound = spelled(SETTING, settings.min)
        yield RuleViolation(("config", SETTING), f"{SETTING}: expected at least {bound}, seen {seen}")
