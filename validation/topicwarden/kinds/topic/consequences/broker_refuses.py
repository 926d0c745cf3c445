"""The brokers refuse the change: they validate it with all settings of the topic, and with their own.

The plan sends the requests of the deploy with ``validate_only``, which change nothing. Only refusals of the change
itself count. Brokers of a service with other code are not asked: it may not know ``validate_only``.
"""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.kafka.read.refused_changes import ValidatedChange
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.consequences import collision
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.planned_change import Action, Consequence, Severity

AVOIDABLE = False


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.declaration is None or change.held:
        return None
    topic = change.declaration.topic
    if change.action is Action.CREATE:
        config = tuple(sorted(topic.config.items()))
        return RequiredEvidence(validated=ValidatedChange(config, topic.partitions, topic.replication_factor))
    if change.live is None or change.action not in (Action.UPDATE, Action.RECREATE):
        return None
    before = change.live.own_config if change.action is Action.RECREATE else _deployed(change)
    if before == dict(topic.config):
        return None
    removed = dict.fromkeys(before.keys() - topic.config.keys())
    return RequiredEvidence(validated=ValidatedChange(tuple(sorted({**removed, **topic.config}.items()))))


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    reason = evidence.refused
    if reason is None or any(collision.evaluate(change, evidence)):
        return
    undeclared = [name for name in _undeclared(change) if name in reason]
    yield Consequence(
        kind="broker-refuses",
        severity=Severity.REFUSED,
        message=f"Kafka refuses the {'topic' if change.action is Action.CREATE else 'change'}: {reason}",
        because=[f"no YAML declares {name}, which is set on the topic" for name in undeclared],
        measured="the brokers' answer to the request of the deploy, with validate_only",
        remedy=f"declare {undeclared[0]}, or remove it with `kafka-configs --alter --delete-config {undeclared[0]}`"
        if undeclared
        else "correct the YAML, or the settings of the brokers",
        location=change.at("config"),
    )


def _deployed(change: TopicChange) -> dict[str, str]:
    return dict(change.deployed.config) if change.deployed else {}


def _undeclared(change: TopicChange) -> list[str]:
    """Return the settings of the topic that the deploy leaves, because no YAML declares them."""
    if change.live is None or change.declaration is None:
        return []
    return sorted(change.live.own_config.keys() - change.declaration.topic.config.keys() - _deployed(change).keys())
