"""Records are forced to disk less often: what all replicas hold in memory only is lost if all lose power at once.

Source: ``flush.messages`` and ``flush.ms``; without them Kafka relies on replication and leaves it to the system.
"""

from collections.abc import Iterable

from topicwarden.change import Consequence
from topicwarden.plan.change import Change
from topicwarden.plan.consequences.guard import remedy_of, weight_of
from topicwarden.plan.consequences.wording import goes
from topicwarden.plan.effects import raised
from topicwarden.plan.evidence import Evidence, Needs
from topicwarden.topic import Allowance

SETTINGS = ("flush.messages", "flush.ms")


def needs(change: Change, now: int) -> Needs | None:
    return Needs() if _less_often(change) else None


def evaluate(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    assert change.before and change.after
    for name in _less_often(change):
        yield Consequence(
            kind="flush",
            weight=weight_of(change, Allowance.RELAX_FLUSH),
            message=f"{goes([name], change.before, change.after)}: more acknowledged records are in memory only, and "
            "lost if all replicas lose power at once",
            remedy=remedy_of(change, Allowance.RELAX_FLUSH, "leave it as it is"),
            place=change.at("config", name),
        )


def _less_often(change: Change) -> list[str]:
    if change.before is None or change.after is None:
        return []
    before, after = change.before.config, change.after.config
    return [name for name in SETTINGS if raised(name, before.get(name), after.get(name))]
