"""Lists the destructive changes that the YAML allows today, and which of them the plan needs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from topicwarden.model.planned_change import ActiveAllowance, TopicPlan
from topicwarden.specs.resolve import Declaration


def active_allowances(
    declarations: Iterable[Declaration], plans: Iterable[TopicPlan], today: date
) -> tuple[ActiveAllowance, ...]:
    """Return every allowance that is valid on ``today`` (UTC), sorted by topic and change."""
    needed = {(plan.topic, change) for plan in plans for change in plan.needs}
    allowances = (
        ActiveAllowance(
            topic=declaration.topic.name,
            change=allowance.change,
            until=allowance.until,
            needed=(declaration.topic.name, allowance.change) in needed,
            location=declaration.locations.at(("allow",)),
        )
        for declaration in declarations
        for allowance in declaration.topic.allow
        if allowance.valid_on(today)
    )
    return tuple(sorted(allowances, key=lambda each: (each.topic, each.change)))
