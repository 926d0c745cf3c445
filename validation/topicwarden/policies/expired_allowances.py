"""Warnings for expired entries of ``allow``, which permit nothing any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from topicwarden.model.problem import Level, Problem
from topicwarden.specs.resolve import Declaration


def expired_allowances(declarations: Iterable[Declaration], today: date) -> Iterator[Problem]:
    """Yield a warning for each entry of `allow` whose `until` is before ``today``, at its line."""
    for declaration in declarations:
        for allowance in sorted(declaration.topic.allow, key=lambda allowance: allowance.change.value):
            if not allowance.valid_on(today):
                message = f"the allowance for {allowance.change.value} expired on {allowance.until}; remove it"
                yield Problem(declaration.locations.at(("allow",)), message, "allowance-expired", Level.WARNING)
