"""The periods after which topics, groups and access count as idle, the prices of bytes, and the level of broken rules.

Each is a block of a policy file. Without ``usage``, nothing is reported as idle or unused. Without ``cost``, no cost is
reported. Without ``contents``, a plan only notes that records break new rules. Several blocks of one name are a list:
the first one whose ``stacks`` match applies.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from topicwarden.model.field_types import Flag, Period, Price, Text, custom_error
from topicwarden.model.message_text import quoted
from topicwarden.policies.rule import RuleLevel
from topicwarden.policies.scope import PolicyBlock, name_matcher

PRICES = ("storage_gib_month", "tiered_gib_month", "written_gib", "read_gib")


def _currency(value: Any) -> Any:
    if isinstance(value, str) and not (len(value) == 3 and value.isascii() and value.isupper()):
        raise custom_error("value", f"expected the code of a currency (ISO 4217) such as EUR, got {quoted(value)}")
    return value


Globs = Annotated[
    tuple[Text, ...],
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""Patterns of names: ``*`` is any text, ``?`` is any character. One pattern needs no list."""


class UsagePolicy(PolicyBlock):
    """Periods in milliseconds after which something counts as idle or unused, and what is exempt from it.

    Without a period, nothing of its kind is reported.
    """

    idle_after: Period | None = Field(
        default=None,
        description="A topic without a write, a commit and an active reader for this time is idle: 30d.",
    )
    idle_groups_after: Period | None = Field(
        default=None, description="A group without a commit and a member for this time is idle: 30d."
    )
    unused_access_after: Period | None = Field(
        default=None,
        description="An ACL is unused if no broker's authorizer log of this time, which must be complete, has it: 30d.",
    )
    unused_schema_versions: Flag = Field(
        default=False,
        description="Whether to report versions of declared subjects that no retained record names.",
    )
    exempt: Globs = Field(
        default=(), description="Patterns of topics that are never idle and have no unused schema versions: `*.dlq`."
    )
    exempt_groups: Globs = Field(
        default=(), description="Patterns of groups that are never undeclared or idle: `console-consumer-*`."
    )

    def exempts_topic(self, name: str) -> bool:
        """Return True if the topic ``name`` is never idle."""
        return bool(self.exempt) and bool(name_matcher(self.exempt)(name))

    def exempts_group(self, name: str) -> bool:
        """Return True if the group ``name`` is never undeclared or idle."""
        return bool(self.exempt_groups) and bool(name_matcher(self.exempt_groups)(name))


class ContentsPolicy(PolicyBlock):
    """The level of new rules under ``contents`` that retained records break, in a plan."""

    broken_rules: RuleLevel = Field(
        default=RuleLevel.OFF,
        description="If retained records break a new or stricter rule: `error` refuses the plan, `warning` asks for a "
        "review, `off` only notes it.",
    )


class CostPolicy(PolicyBlock):
    """The prices of one GiB, in ``currency``. A part without a price costs nothing.

    A month is 30 days.
    """

    currency: Annotated[Text, BeforeValidator(_currency)] = Field(description="The currency of all prices: EUR.")
    storage_gib_month: Price = Field(default=0.0, description="A month of 1 GiB on the disk of one replica.")
    tiered_gib_month: Price = Field(default=0.0, description="A month of 1 GiB in remote storage.")
    written_gib: Price = Field(default=0.0, description="1 GiB that producers write.")
    read_gib: Price = Field(default=0.0, description="1 GiB that consumers read.")

    @model_validator(mode="after")
    def _has_a_price(self) -> Self:
        if not any(getattr(self, name) for name in PRICES):
            raise custom_error(
                "value", f"expected at least one of {', '.join(PRICES)} above 0, got none; write a price"
            )
        return self
