"""Topics are cleaned up in the ways that the house allows.

Kafka's default, `delete`, counts where none is declared.

Example: `cleanup-policy: {required: [compact], topics: '*.state'}`
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import Field, model_validator

from topicwarden.model.topic import Topic
from topicwarden.policies.effective_values import cleanup
from topicwarden.policies.rule import RuleSettings, RuleViolation, contradiction
from topicwarden.specs.broker_settings import BrokerSettings

SETTING = "cleanup.policy"
Word = Literal["compact", "delete"]


class Settings(RuleSettings):
    allowed: list[Word] = Field(default=["compact", "delete"], description="The words that it may have.")
    required: list[Word] = Field(default=[], description="The words that it must have.")

    @model_validator(mode="after")
    def _possible(self) -> Settings:
        if lacking := set(self.required) - set(self.allowed):
            raise contradiction("required", f"{min(lacking)} is not allowed", "add it to allowed, or take it out here")
        return self


ALWAYS = None
SHAPE_ONLY = True


def judge(topic: Topic, settings: Settings, brokers: BrokerSettings) -> Iterable[RuleViolation]:
    path, held = ("config", SETTING), cleanup(topic)
    seen = topic.config.get(SETTING, "delete, Kafka's default") or "none"
    if not held <= set(settings.allowed):
        yield RuleViolation(path, f"{SETTING}: expected only {' and '.join(settings.allowed)}, seen {seen}")
    elif not held >= set(settings.required):
        yield RuleViolation(path, f"{SETTING}: expected {' and '.join(settings.required)}, seen {seen}")
