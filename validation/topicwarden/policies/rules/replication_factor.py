"""Every partition has enough replicas.

Settings: ``min``, ``max``. With fewer than three, one broker's maintenance and another's failure lose data.
Example: ``replication-factor: {min: 3, stacks: [prod]}``
"""

from collections.abc import Iterable

from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.model import ReplicationFactor
from topicwarden.topic import Topic


class Settings(RuleSettings):
    min: ReplicationFactor = 1
    max: ReplicationFactor | None = None


ALWAYS = None


def judge(topic: Topic, settings: Settings) -> Iterable[Complaint]:
    seen = topic.replication_factor
    if seen < settings.min:
        yield Complaint(("replication_factor",), f"replication_factor: expected at least {settings.min}, seen {seen}")
    if settings.max is not None and seen > settings.max:
        yield Complaint(("replication_factor",), f"replication_factor: expected at most {settings.max}, seen {seen}")
