"""Brokers have different defaults for a setting that the topic does not set.

Each broker applies its own configuration to its replicas, so the effective value depends on the leader and may change
with an election.
"""

from collections.abc import Iterable

from topicwarden.kafka.read.effective_defaults import differing_defaults
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.setting_effects import HARMFUL
from topicwarden.model.planned_change import Action, Consequence, Severity
from topicwarden.plan.consequence_text import shorten, spelled

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.declaration is not None and change.action is not Action.DELETE else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.declaration
    for name in HARMFUL:
        if name in change.declaration.topic.config:
            continue
        if brokers := differing_defaults(evidence.snapshot, name):
            shown = [
                f"{spelled(name, value)} on broker {shorten(list(map(str, ids)))}" for value, ids in brokers.items()
            ]
            yield Consequence(
                kind="broker-defaults",
                severity=Severity.DANGER,
                message=f"the topic leaves {name} to its brokers, and they differ: {'; '.join(shown)}",
                because=["each broker applies its own value to its replicas"],
                measured="the configuration of every living broker",
                remedy=f"declare {name}, or give all brokers the same value",
                evidence={"setting": name, **{f"brokers with {value}": len(ids) for value, ids in brokers.items()}},
                location=change.at("config"),
            )
