"""The number of partitions keeps within bounds.

Settings: ``min``, ``max``. Partitions cost files, memory and recovery time on every broker that holds a replica.
Example: ``partitions: {max: 120}``
"""

from collections.abc import Iterable

from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.model import Partitions
from topicwarden.topic import Topic


class Settings(RuleSettings):
    min: Partitions = 1
    max: Partitions | None = None


ALWAYS = None


def judge(topic: Topic, settings: Settings) -> Iterable[Complaint]:
    if topic.partitions < settings.min:
        yield Complaint(("partitions",), f"partitions: expected at least {settings.min}, seen {topic.partitions}")
    if settings.max is not None and topic.partitions > settings.max:
        yield Complaint(("partitions",), f"partitions: expected at most {settings.max}, seen {topic.partitions}")
