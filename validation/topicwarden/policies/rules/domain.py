"""Topics lie in the folders that there are teams for.

A topic's domain is the first folder below `topics/` that its file lies in.

Example: `domain: {allowed: [orders, shipping]}`
"""

from collections.abc import Iterable

from pydantic import Field

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import RuleSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.document_model import Flag, Text
from topicwarden.specs.message_text import did_you_mean


class Settings(RuleSettings):
    allowed: list[Text] | None = Field(default=None, description="The folders there may be; any where not given.")
    in_name: Flag = Field(default=False, description="Whether names must begin with the domain and a dot: `orders.`")


ALWAYS = None
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if not topic.domain:
        yield RuleViolation(
            (), f"{topic.name} lies in no folder of topics/; move its file into the folder of its domain"
        )
    elif settings.allowed is not None and topic.domain not in settings.allowed:
        meant = did_you_mean(topic.domain, settings.allowed)
        expected = ", ".join(settings.allowed)
        yield RuleViolation((), f"the folder topics/{topic.domain}: expected one of {expected}{meant}; move the file")
    elif settings.in_name and not topic.name.startswith(f"{topic.domain}."):
        message = f"the name {topic.name} does not begin with {topic.domain}., as its folder; rename it, or move it"
        yield RuleViolation(("topic",), message)
