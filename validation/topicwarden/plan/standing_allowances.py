"""Lists the destructive changes that the YAML allows today, and which of them the plan needs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from topicwarden.model.planned_change import StandingAllowance, TopicPlan
from topicwarden.plan.topic_change import place_of
from topicwarden.specs.resolve import Declaration


def active_allowances(
    declarations: Iterable[Declaration], plans: Iterable[TopicPlan], today: date
) -> tuple[StandingAllowance, ...]:
    """Return every allowance that is valid on ``today`` (UTC), sorted by topic and change."""
    needed = {(plan.topic, change) for plan in plans for change in plan.needs}
    found = (
        StandingAllowance(
            topic=declaration.topic.name,
            change=permit.change,
            until=permit.until,
            needed=(declaration.topic.name, permit.change) in needed,
            place=place_of(declaration.places.at(("allow",))),
        )
        for declaration in declarations
        for permit in declaration.topic.allow
        if permit.valid_on(today)
    )
    return tuple(sorted(found, key=lambda each: (each.topic, each.change)))
