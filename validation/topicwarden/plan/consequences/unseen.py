"""A topic whose configuration the brokers do not tell this user: nothing can be foretold of a change to it."""

from collections.abc import Iterable

from topicwarden.change import Action, Consequence, Weight
from topicwarden.plan.change import Change
from topicwarden.plan.evidence import Asks, Evidence


def asks(change: Change, now: int) -> Asks | None:
    hidden = change.live is not None and not change.live.sources
    return Asks() if hidden and change.action is not Action.DELETE else None


def foretell(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    yield Consequence(
        kind="unseen",
        weight=Weight.DANGER,
        message="the topic's configuration may not be seen, so that nothing is foretold of what this does to its data",
        remedy="grant DescribeConfigs on the topic, and plan again",
        place=change.at("config"),
    )
