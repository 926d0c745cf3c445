"""Compares the plan that was confirmed with the one that a deploy is about to carry out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from topicwarden.model.planned_change import Consequence, PlanReport, Severity

_Key: TypeAlias = tuple[str, str, frozenset[str]]


def new_losses(shown: PlanReport, now: PlanReport) -> list[str]:
    """Return the losses in ``now`` that ``shown`` did not name, or where it said that nothing is lost, one line each.

    A higher count of a loss that was shown is no new loss. Refused consequences count as well.
    """
    before = dict(_losses(shown))
    return [
        f"{key[0]}: {each.message}"
        for key, each in _losses(now)
        if key not in before or _was_nothing(before[key].evidence, each.evidence)
    ]


def _losses(report: PlanReport) -> Iterator[tuple[_Key, Consequence]]:
    for part in report.parts:
        for each in part.consequences:
            if each.severity is not Severity.NOTE:
                # Who or what is concerned, such as a group or a setting, is a text in the evidence; counts are numbers.
                names = frozenset(f"{name} {value}" for name, value in each.evidence.items() if isinstance(value, str))
                yield (part.title, each.kind, names), each


def _was_nothing(before: Mapping[str, object], now: Mapping[str, object]) -> bool:
    """Return whether a count that was 0 is larger now."""
    return any(isinstance(value, int | float) and value > 0 and before.get(name) == 0 for name, value in now.items())
