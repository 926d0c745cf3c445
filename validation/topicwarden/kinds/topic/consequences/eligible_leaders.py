"""Partitions lose their eligible leader replicas, because `min.insync.replicas` changes.

With the feature ``eligible.leader.replicas.version`` the controller keeps the replicas that left the in-sync replicas
and still have every acknowledged record. Such a replica may lead if all in-sync replicas fail. A changed
`min.insync.replicas` clears them. The replicas are in sync again, and may lead, when they have caught up.

Source: KIP-966; ``ReplicationControlManager.getPartitionElrUpdatesForConfigChanges``.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, PartitionEffect, Severity

AVOIDABLE = True
_SETTING = "min.insync.replicas"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.changed(_SETTING) else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.live and change.before and change.after
    cleared = [state for state in change.live.replicas if state.eligible]
    if not cleared:
        return
    stopped = [state for state in cleared if state.leader is None]
    before, after = change.before.config[_SETTING], change.after.config[_SETTING]
    yield Consequence(
        kind="eligible-leaders",
        severity=Severity.DANGER,
        message=f"{_SETTING} goes from {before} to {after}: the controller clears the eligible leader replicas of "
        f"{counted(len(cleared), 'partition')}, which could lead without the loss of acknowledged records",
        because=[f"{counted(len(stopped), 'partition')} without a leader now can then not elect one of them"]
        if stopped
        else [],
        measured="the eligible leader replicas of every partition when the cluster was read",
        remedy="bring the missing replicas back first, until they are in sync",
        evidence={"partitions": len(cleared), "leaderless": len(stopped)},
        partitions=[
            PartitionEffect(partition=state.partition, replicas_before=list(state.eligible)) for state in cleared
        ],
        location=change.at("config", _SETTING),
    )
