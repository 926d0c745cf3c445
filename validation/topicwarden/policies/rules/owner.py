"""Somebody answers for the topic.

Example: `owner: {allowed: [team-orders, team-platform]}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.policies.rule import Complaint, RuleSettings
from topicwarden.specs.brokers import Brokers
from topicwarden.specs.model import Text
from topicwarden.specs.words import guess
from topicwarden.topic import Topic


class Settings(RuleSettings):
    allowed: list[Text] | None = Field(default=None, description="The owners there may be; any where not given.")


ALWAYS = None


def judge(topic: Topic, settings: Settings, brokers: Brokers) -> Iterable[Complaint]:
    if topic.owner is None:
        yield Complaint(("owner",), f"{topic.name} has no owner; name the team that answers for it")
    elif settings.allowed is not None and topic.owner not in settings.allowed:
        meant = guess(topic.owner, settings.allowed)
        yield Complaint(("owner",), f"owner: expected one of {', '.join(settings.allowed)}, seen {topic.owner}{meant}")
