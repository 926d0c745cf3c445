"""A destructive change is not allowed for good.

An entry of `allow` without an end permits the change again and again: also to who edits the file next year, and knows
nothing of it. It is there for one deploy.

Remedy: give it an end, as `{change: delete, until: 2027-01-31}`, or remove it after the deploy that needs it.
"""

from collections.abc import Iterable

from topicwarden.policies.rule import Advice, Complaint
from topicwarden.specs.brokers import Brokers
from topicwarden.topic import Topic


class Settings(Advice):
    pass


ALWAYS = Settings()


def judge(topic: Topic, settings: Settings, brokers: Brokers) -> Iterable[Complaint]:
    for change in sorted(permit.change.value for permit in topic.allow if permit.until is None):
        yield Complaint(
            ("allow",),
            f"{change} is allowed without an end; write `{{change: {change}, until: <day>}}`, or remove it after the "
            "deploy that needs it",
        )
