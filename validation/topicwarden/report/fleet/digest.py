"""The content that all formats of a report on several stacks share: a headline, and the words of a difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from topicwarden.model.fleet_report import DifferenceKind, FleetReport, StackDifference, StackOutcome
from topicwarden.model.message_text import counted
from topicwarden.report import display

UNREAD: Final = "?"
"""Stands for the value of a stack that could not be read."""
TITLES: Final = {
    DifferenceKind.VERDICT: "Verdicts that differ",
    DifferenceKind.CHANGE: "Pending changes that differ",
    DifferenceKind.SETTING: "Settings that differ",
}
"""The heading above the differences of each kind."""


def headline(report: FleetReport) -> str:
    """Return ``3 stacks: 1 without a problem, 1 with problems, 1 could not run; exit code 2``."""
    codes = [outcome.exit_code for outcome in report.stacks]
    failed = sum(not outcome.ran for outcome in report.stacks)
    parts = [
        (codes.count(0), "without a problem"),
        (codes.count(3), "with pending changes"),
        (codes.count(1), "with problems"),
        (failed, "could not run"),
    ]
    shown = ", ".join(f"{number:,} {what}" for number, what in parts if number)
    return f"{counted(len(report.stacks), 'stack')}: {shown}; exit code {report.exit_code}"


def sections(report: FleetReport, most: int) -> Iterator[tuple[DifferenceKind, Sequence[StackDifference], int]]:
    """Yield the kinds of differences, each with at most ``most`` rows and the number of the others."""
    for kind in DifferenceKind:
        rows = [row for row in report.differences if row.kind is kind]
        if rows:
            yield kind, rows[:most], max(0, len(rows) - most)


def value_of(row: StackDifference, outcome: StackOutcome) -> str:
    """Return the value of one stack: a question mark if the stack could not be read, a dash if it has no value."""
    if outcome.stack not in row.values:
        return UNREAD
    value = row.values[outcome.stack]
    return display.NOTHING if value is None else display.one_line(value)


def topic_names(row: StackDifference, most: int) -> str:
    """Return the topics of a difference: ``1,000 topics: a, b and 998 more``; the name of a single topic."""
    if len(row.topics) == 1:
        return display.one_line(row.topics[0])
    shown = ", ".join(row.topics[:most])
    more = f" and {len(row.topics) - most:,} more" if len(row.topics) > most else ""
    return display.one_line(f"{counted(len(row.topics), 'topic')}: {shown}{more}")


def omitted(number: int, kept_in: str) -> str:
    """Return the line below a table that does not have all rows; ``kept_in`` is what has all."""
    return f"{counted(number, 'more difference')}; {kept_in} has all"
