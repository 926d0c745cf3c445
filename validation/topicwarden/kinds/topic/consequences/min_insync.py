"""Writes are refused or become less durable, because `min.insync.replicas` changes.

A producer with ``acks=all`` gets NOT_ENOUGH_REPLICAS from a partition with fewer in-sync replicas
(``Partition.appendRecordsToLeader``). Other producers are not affected. Since Kafka 3.7 the limit is never higher than
the number of replicas of the partition (``Partition.effectiveMinIsr``).
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, PartitionEffect, Severity
from topicwarden.model.topic import AllowedChange

AVOIDABLE = True


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    return RequiredEvidence() if change.changed("min.insync.replicas") else None


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.live and change.before and change.after
    before, after = change.before.number("min.insync.replicas") or 1, change.after.number("min.insync.replicas") or 1
    stopped = [state for state in change.live.replicas if len(state.in_sync) < min(after, len(state.replicas))]
    partitions = counted(change.live.topic.partitions, "partition")
    if after > before and stopped:
        fewest = min(len(state.in_sync) for state in stopped)
        yield Consequence(
            kind="min-insync",
            severity=Severity.DANGER,
            message=f"min.insync.replicas goes from {before} to {after}: {len(stopped)} of {partitions} "
            f"would refuse writes with acks=all now, with as few as {fewest} in sync",
            measured="the in-sync replicas of every partition when the cluster was read",
            remedy="bring the missing replicas back first",
            evidence={"partitions": len(stopped), "before": before, "after": after},
            partitions=[
                PartitionEffect(partition=state.partition, replicas_before=list(state.in_sync)) for state in stopped
            ],
            location=change.at("config", "min.insync.replicas"),
        )
    elif after > before:
        fewest = min(len(state.in_sync) for state in change.live.replicas)
        yield Consequence(
            kind="min-insync",
            severity=Severity.NOTE,
            message=f"min.insync.replicas goes from {before} to {after}: writes with acks=all survive the loss of "
            f"{counted(max(0, fewest - after), 'broker')}, so far {max(0, fewest - before)}",
            measured="the in-sync replicas of every partition when the cluster was read",
            evidence={"before": before, "after": after},
            location=change.at("config", "min.insync.replicas"),
        )
    elif after < before:
        replicas = [len(state.replicas) for state in change.live.replicas]
        weaker = [count for count in replicas if count > after]
        fewest = min(weaker or replicas)
        survived, survives = min(before, fewest) - 1, min(after, fewest) - 1
        yield Consequence(
            kind="min-insync",
            severity=severity_of(change, AllowedChange.LOWER_MIN_INSYNC) if weaker else Severity.NOTE,
            message=f"min.insync.replicas goes from {before} to {after}: a write that is acknowledged from now on "
            f"survives the loss of {counted(survives, 'broker')}, so far {survived}",
            because=["an acknowledged write is guaranteed to be on min.insync.replicas replicas"],
            measured="the replicas of every partition when the cluster was read",
            remedy=remedy_of(change, AllowedChange.LOWER_MIN_INSYNC, f"keep {before}") if weaker else "",
            evidence={
                "before": before,
                "after": after,
                "losses_survived_before": survived,
                "losses_survived_after": survives,
            },
            location=change.at("config", "min.insync.replicas"),
        )
