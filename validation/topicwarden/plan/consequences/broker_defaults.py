"""Brokers have different defaults for a setting that the topic leaves to them: which one counts depends on the leader.

Each broker applies its own configuration to the replicas it has: after an election the topic behaves differently.
"""

from collections.abc import Iterable

from topicwarden.change import Action, Consequence, Weight
from topicwarden.plan.change import Change
from topicwarden.plan.consequences.wording import listed, spelled
from topicwarden.plan.defaults import differing_defaults
from topicwarden.plan.effects import HARMFUL
from topicwarden.plan.evidence import Evidence, Needs


def needs(change: Change, now: int) -> Needs | None:
    return Needs() if change.declaration is not None and change.action is not Action.DELETE else None


def evaluate(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    assert change.declaration
    for name in HARMFUL:
        if name in change.declaration.topic.config:
            continue
        if brokers := differing_defaults(evidence.snapshot, name):
            shown = [
                f"{spelled(name, value)} on broker {listed(list(map(str, ids)))}" for value, ids in brokers.items()
            ]
            yield Consequence(
                kind="broker-defaults",
                weight=Weight.DANGER,
                message=f"the topic leaves {name} to its brokers, and they differ: {'; '.join(shown)}",
                because=["each broker applies its own value to the replicas that it has"],
                measured="the configuration of every living broker",
                remedy=f"declare {name}, or give all brokers the same value",
                evidence={f"brokers with {value}": len(ids) for value, ids in brokers.items()},
                place=change.at("config"),
            )
