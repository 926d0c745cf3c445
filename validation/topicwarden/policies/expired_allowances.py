"""Allowances whose last day is over: they permit nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from topicwarden.model.problem import Level, Problem
from topicwarden.specs.resolve import Declaration


def expired_allowances(declarations: Iterable[Declaration], today: date) -> Iterator[Problem]:
    """Yield a warning for each entry of `allow` whose `until` is before ``today``, at its line."""
    for declaration in declarations:
        for permit in sorted(declaration.topic.allow, key=lambda permit: permit.change.value):
            if not permit.holds(today):
                message = f"{permit.change.value} was allowed until {permit.until}, and is not any more; remove it"
                yield Problem(declaration.places.at(("allow",)), message, "allowance-expired", Level.WARNING)
