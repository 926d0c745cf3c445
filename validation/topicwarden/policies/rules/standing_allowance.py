"""A destructive change is not allowed for good.

An entry of `allow` without an end permits the change again and again: also to who edits the file next year, and knows
nothing of it. It is there for one deploy.

Remedy: give it an end, as `{change: delete, until: 2027-01-31}`, or remove it after the deploy that needs it.
"""

from collections.abc import Iterable

from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation
from topicwarden.specs.broker_settings import BrokerSettings


class Settings(AdviceSettings):
    pass


ALWAYS = Settings()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for change in sorted(permit.change.value for permit in topic.allow if permit.until is None):
        yield RuleViolation(
            ("allow",),
            f"{change} is allowed without an end; write `{{change: {change}, until: <day>}}`, or remove it after the "
            "deploy that needs it",
        )
