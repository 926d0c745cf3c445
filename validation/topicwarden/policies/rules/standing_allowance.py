"""Warn about an `allow` entry without an end date.

An entry without an end date allows the destructive change in every future deploy. A colleague who edits the file next
year may not know about it. An entry is meant for one deploy.

Remedy: add an end date, such as `{change: delete, until: 2027-01-31}`, or remove it after the deploy that needs it.
"""

from collections.abc import Iterable

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.rule import AdviceSettings, RuleViolation

Settings = AdviceSettings
ALWAYS = Settings.with_defaults()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    for change in sorted(allowance.change.value for allowance in topic.allow if allowance.until is None):
        yield RuleViolation(
            ("allow",),
            f"{change} is allowed without an end date; write `{{change: {change}, until: DATE}}`, or remove it after "
            "the deploy that needs it",
        )
