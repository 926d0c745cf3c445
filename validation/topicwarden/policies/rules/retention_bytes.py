"""A topic takes no more disk than the house allows.

Judges `retention.bytes` of topics that delete, which Kafka counts by partition; unlimited (-1) where not declared.
`max_topic` bounds all partitions together, one replica of each.

Example: `retention-bytes: {max: 50GiB, max_topic: 500GiB}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup, number, spelled
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.document_model import Size

SETTING = "retention.bytes"


class Settings(RuleSettings):
    min: Size | None = Field(default=None, description="The least a partition must keep.")
    max: Size | None = Field(default=None, description="The most a partition may keep.")
    max_topic: Size | None = Field(default=None, description="The most that all partitions may keep together.")


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if "delete" not in cleanup(topic):
        return
    path, kept = ("config", SETTING), number(topic, SETTING, brokers)
    seen = "unlimited (-1)" if kept < 0 else spelled(SETTING, kept)
    if settings.max is not None and not 0 <= kept <= settings.max:
        yield RuleViolation(path, f"{SETTING}: expected at most {spelled(SETTING, settings.max)}, seen {seen}")
    if settings.min is not None and 0 <= kept < settings.min:
        yield RuleViolation(path, f"{SETTING}: expected at least {spelled(SETTING, settings.min)}, seen {seen}")
    if settings.max_topic is not None and not 0 <= kept * topic.partitions <= settings.max_topic:
        yield RuleViolation(
            path,
            f"{SETTING}: expected at most {spelled(SETTING, settings.max_topic)} in all partitions together, "
            f"seen {topic.partitions} times {seen}",
        )
