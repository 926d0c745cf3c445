"""The number of partitions keeps within bounds.

Partitions cost files, memory and recovery time on every broker that holds a replica, and can never be taken back.

Example: `partitions: {max: 120}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.brokers import Brokers
from topicwarden.specs.model import Partitions
from topicwarden.topic import Topic


class Settings(RuleSettings):
    min: Partitions = Field(default=1, description="The fewest there may be.")
    max: Partitions | None = Field(default=None, description="The most there may be.")


ALWAYS = None


def judge(topic: Topic, settings: Settings, brokers: Brokers) -> Iterable[Complaint]:
    if topic.partitions < settings.min:
        yield Complaint(("partitions",), f"partitions: expected at least {settings.min}, seen {topic.partitions}")
    if settings.max is not None and topic.partitions > settings.max:
        yield Complaint(("partitions",), f"partitions: expected at most {settings.max}, seen {topic.partitions}")
