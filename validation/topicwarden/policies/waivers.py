"""A waiver lets topics off a rule until a day, with the reason and who answers for it.

It holds through the day it names. A rule of a whole stack, such as `partition-budget`, does not count the topics that
are let off. A waiver that has run out is an error of its own, and the problems that it hid are back;
one that hides nothing any more is a warning. Waived problems are counted, not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from pydantic import Field

from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import Topic
from topicwarden.policies.scope import Patterns, Scope
from topicwarden.specs.document_model import Day, Text


class Waiver(Scope):
    """One entry of ``waivers``."""

    rule: Text = Field(description="The rule's or the expression's id.")
    topics: Patterns = Field(description="Patterns of the topics it lets off: `legacy.*`.")
    until: Day = Field(description="The last day it holds, as 2027-01-31 (in UTC).")
    reason: Text = Field(description="Why the rule is broken, and what ends it.")
    by: Text = Field(description="Who answers for it.")


@dataclass(frozen=True, eq=False)
class PlacedWaiver:
    """A waiver that holds, where it stands, and which topics it lets off; ``matches`` None: all."""

    waiver: Waiver
    place: Location
    matches: Callable[[Topic], Any] | None

    def lets_off(self, rule: str, topic: Topic) -> bool:
        """Whether ``topic`` need not keep to ``rule``."""
        return rule == self.waiver.rule and (self.matches is None or bool(self.matches(topic)))

    def unused(self) -> Problem:
        message = f"this waiver of {self.waiver.rule} hides nothing any more; delete it"
        return Problem(self.place, message, "waiver-unused", Level.WARNING)


def run_out(waiver: Waiver, place: Location, today: date) -> Problem | None:
    """The error of a waiver whose last day is over."""
    if today <= waiver.until:
        return None
    message = (
        f"the waiver of {waiver.rule} by {waiver.by} ran out on {waiver.until} ({waiver.reason}); "
        "mend the topics and delete it, or have it prolonged"
    )
    return Problem(place, message, "waiver-expired")
