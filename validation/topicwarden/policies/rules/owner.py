"""Somebody answers for the topic.

Settings: ``allowed``, the owners there may be; any where not given.
Example: ``owner: {allowed: [team-orders, team-platform]}``
"""

from collections.abc import Iterable

from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.model import Text
from topicwarden.topic import Topic


class Settings(RuleSettings):
    allowed: list[Text] | None = None


ALWAYS = None


def judge(topic: Topic, settings: Settings) -> Iterable[Complaint]:
    if topic.owner is None:
        yield Complaint(("owner",), f"{topic.name} has no owner; name the team that answers for it")
    elif settings.allowed is not None and topic.owner not in settings.allowed:
        yield Complaint(("owner",), f"owner: expected one of {', '.join(settings.allowed)}, seen {topic.owner}")
