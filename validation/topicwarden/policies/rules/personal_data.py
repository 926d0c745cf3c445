"""A topic with personal data has an owner, and declares for how long brokers keep it.

It applies to topics that declare fields with personal data: `contents: {personal: [email]}`. A topic that deletes by
time must declare `retention.ms`, and not forever (-1, or 9223372036854775807). A topic that is only compacted must
declare `max.compaction.lag.ms`, after which brokers remove what a tombstone deletes. A topic with an empty
`cleanup.policy` keeps every record forever.

An audit also notes undeclared fields that look like personal data. `fields` adds names of fields to its list.

Example: `personal-data: {level: error, fields: [customer_ref]}`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.field_types import Text
from topicwarden.model.topic import Topic
from topicwarden.model.units import LONG_MAX
from topicwarden.policies.effective_values import cleanup_policies
from topicwarden.policies.rule import AdviceSettings, RuleViolation

if TYPE_CHECKING:
    from topicwarden.policies.policy import Policy

RULE = "personal-data"


class Settings(AdviceSettings):
    fields: tuple[Text, ...] = Field(
        default=(), description="Names of fields that look like personal data in audits, beside the built-in ones."
    )


ALWAYS = Settings.with_defaults()
SHAPE_ONLY = False


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    if not topic.contents.personal:
        return
    if topic.owner is None:
        message = f"{topic.name} has personal data and no owner; write owner: with the responsible team"
        yield RuleViolation(("owner",), message, default="owner: TEAM")
    policies = cleanup_policies(topic)
    if not policies:
        message = f"{topic.name} has personal data and keeps it forever; write cleanup.policy: delete"
        yield RuleViolation(("config", "cleanup.policy"), message)
        return
    setting = "max.compaction.lag.ms" if policies == {"compact"} else "retention.ms"
    value = topic.number(setting)
    if value is None or not 0 <= value < LONG_MAX:
        kept = "does not declare how long it is kept" if value is None else "keeps it forever"
        yield RuleViolation(("config", setting), f"{topic.name} has personal data and {kept}; write {setting}: 30d")


def personal_names(policy: Policy, stack: str) -> frozenset[str]:
    """Return the names of fields that the rule ``personal-data`` adds on ``stack``."""
    blocks = (placed.settings for placed in policy.rules.get(RULE, ()))
    return frozenset(
        name
        for settings in blocks
        if isinstance(settings, Settings) and settings.applies_on(stack)
        for name in settings.fields
    )
