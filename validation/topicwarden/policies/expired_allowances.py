"""Warnings for expired entries of ``allow``, which permit nothing any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date

from topicwarden.model.problem import Level, Problem
from topicwarden.specs.resolve import Declaration


def expired_allowances(declarations: Iterable[Declaration], today: date) -> Iterator[Problem]:
    """Yield a warning for each entry of `allow` whose `until` is before ``today``, at its line."""
    for declaration in declarations:
        for permit in sorted(declaration.topic.allow, key=lambda permit: permit.change.value):
            if not permit.valid_on(today):
                message = f"the permission for {permit.change.value} expired on {permit.until}; remove it"
                yield Problem(declaration.places.at(("allow",)), message, "allowance-expired", Level.WARNING)
