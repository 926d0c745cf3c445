"""Changes of topics while they are audited: an audit takes minutes, and topics come and go."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import Snapshot, TopicIdentity
from topicwarden.model.problem import Refusal


@dataclass(frozen=True)
class ChangeDuringAudit:
    """A change since the snapshot. ``grown``: the topic only got partitions; else its records are not comparable."""

    message: str
    grown: bool = False


@dataclass(frozen=True)
class ChangesDuringAudit:
    """The topics that changed, by name, and each (topic, partition) that has another leader epoch."""

    topics: Mapping[str, ChangeDuringAudit]
    leaders: frozenset[tuple[str, int]]


def changes_during_audit(connection: Connection, snapshot: Snapshot, topics: Collection[str]) -> ChangesDuringAudit:
    """Return how ``topics`` differ from ``snapshot``. Sends one request.

    A topic has the same id as long as it exists (KIP-516). Brokers without topic ids (before 2.8) report the same id
    for all topics, so that only a deletion is noticed. Raises Refusal if the cluster is unreachable.
    """
    from topicwarden.kafka.read.cluster import open_cluster  # noqa: PLC0415 -- the pages of checks need no client

    with open_cluster(connection) as cluster:
        now = cluster.identities(topics)
    changes = {name: _change(snapshot, name, now) for name in topics}
    return ChangesDuringAudit(
        {name: change for name, change in changes.items() if change is not None},
        frozenset(
            (name, state.partition)
            for name in topics
            if name in now
            for state in snapshot.topics[name].replicas
            if now[name].leader_epochs.get(state.partition) != state.leader_epoch
        ),
    )


def changes_or_none(
    connection: Connection, snapshot: Snapshot, topics: Collection[str]
) -> Mapping[str, ChangeDuringAudit]:
    """Return the changed topics; none if the cluster is unreachable, because an earlier error has the better reason."""
    try:
        return changes_during_audit(connection, snapshot, topics).topics
    except Refusal:
        return {}


def _change(snapshot: Snapshot, name: str, now: Mapping[str, TopicIdentity]) -> ChangeDuringAudit | None:
    before = snapshot.topics[name]
    if name not in now:
        return ChangeDuringAudit("was deleted, or hidden from this user, during the audit")
    partitions = len(now[name].leader_epochs)
    if now[name].id != before.id or partitions < before.topic.partitions:
        return ChangeDuringAudit("was deleted and created again during the audit")
    if partitions > before.topic.partitions:
        return ChangeDuringAudit(
            f"got {partitions - before.topic.partitions} more partitions during the audit", grown=True
        )
    return None
