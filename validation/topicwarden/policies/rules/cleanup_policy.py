"""Restrict the cleanup policies that topics may have.

If `cleanup.policy` is not declared, the rule uses Kafka's default, `delete`.

Example: `cleanup-policy: {required: [compact], topics: '*.state'}`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field, model_validator

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup_policies
from topicwarden.policies.rule import RuleSettings, RuleViolation, contradiction

SETTING = "cleanup.policy"
Word = Literal["compact", "delete"]


class Settings(RuleSettings):
    allowed: list[Word] = Field(default=["compact", "delete"], description="The policies that a topic may have.")
    required: list[Word] = Field(default=[], description="The policies that a topic must have.")

    @model_validator(mode="after")
    def _required_are_allowed(self) -> Settings:
        if missing := set(self.required) - set(self.allowed):
            raise contradiction(
                "required", f"{min(missing)} is not allowed", "add it to allowed, or remove it from required"
            )
        return self


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    path, policies = ("config", SETTING), cleanup_policies(topic)
    got = topic.config.get(SETTING, "delete, Kafka's default") or "none"
    if not policies <= set(settings.allowed):
        yield RuleViolation(path, f"{SETTING}: expected only {' and '.join(settings.allowed)}, got {got}")
    elif not policies >= set(settings.required):
        yield RuleViolation(path, f"{SETTING}: expected {' and '.join(settings.required)}, got {got}")
