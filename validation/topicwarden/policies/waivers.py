"""A waiver exempts topics from a rule until a given day, with a reason and a responsible team or person.

It is valid through the given day. A rule for a whole stack, such as `partition-budget`, does not count exempt topics.
An expired waiver is an error, and the problems that it hid are reported again. A waiver that hides no problem is a
warning. Waived problems are counted, but not shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from heapq import merge
from typing import Any

from pydantic import Field

from topicwarden.model.field_types import Day, Text
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.model.topic import Topic
from topicwarden.model.topic_selection import is_literal
from topicwarden.policies.scope import Patterns, Scope, name_matcher


class Waiver(Scope):
    """One entry of ``waivers``."""

    rule: Text = Field(description="The id of the rule or the expression.")
    topics: Patterns = Field(
        description="Patterns of the exempt topics: `legacy.*`; for rules about access also of files: `access/legacy*`."
    )
    until: Day = Field(description="The last day on which it is valid, such as 2027-01-31 (in UTC).")
    reason: Text = Field(description="Why the topics violate the rule, and what will end this.")
    by: Text = Field(description="The responsible team or person.")


@dataclass(frozen=True, eq=False)
class WaiverEntry:
    """A waiver with its location. ``matches`` is true for the topics that it exempts; None if it exempts all."""

    waiver: Waiver
    location: Location
    matches: Callable[[Topic], Any] | None

    def covers(self, rule: str, topic: Topic) -> bool:
        """Return True if the waiver exempts ``topic`` from ``rule``."""
        return rule == self.waiver.rule and (self.matches is None or bool(self.matches(topic)))

    def covers_file(self, file: str) -> bool:
        """Return True if the waiver exempts a file below ``access/`` from its rule: its patterns match the path."""
        return self.waiver.domains is None and bool(name_matcher(self.waiver.topics)(file))

    def unused(self) -> Problem:
        """Return the warning that the waiver hides no problem."""
        message = f"this waiver of {self.waiver.rule} hides no problem any more; delete it"
        return Problem(self.location, message, "waiver-unused", Level.WARNING)


class WaiverIndex:
    """Waivers by their rules, and by the names in those of their patterns that match one name only."""

    def __init__(self, waivers: Iterable[WaiverEntry]) -> None:
        self._waivers = tuple(waivers)
        self._by_name: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._others: dict[str, list[int]] = defaultdict(list)
        for number, waiver in enumerate(each.waiver for each in self._waivers):
            if all(map(is_literal, waiver.topics)):
                for name in dict.fromkeys(waiver.topics):
                    self._by_name[waiver.rule, name].append(number)
            else:
                self._others[waiver.rule].append(number)

    def candidates(self, rule: str, name: str) -> Iterator[WaiverEntry]:
        """Yield the waivers of a rule that may cover a topic or a file of this name, in their order."""
        for number in merge(self._by_name.get((rule, name), ()), self._others.get(rule, ())):
            yield self._waivers[number]


def expiry_problem(waiver: Waiver, location: Location, today: date) -> Problem | None:
    """Return the error of a waiver whose last day is before ``today``; None if it is still valid."""
    if today <= waiver.until:
        return None
    message = (
        f"the waiver of {waiver.rule} by {waiver.by} expired on {waiver.until} ({waiver.reason}); "
        "correct the topics and delete the waiver, or extend it"
    )
    return Problem(location, message, "waiver-expired")
