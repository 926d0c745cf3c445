"""Writes that would be refused: `min.insync.replicas` above what is in sync at this moment.

A producer with ``acks=all`` gets NOT_ENOUGH_REPLICAS from a partition whose in-sync replicas are fewer
(``Partition.appendRecordsToLeader``); others are not stopped. Since Kafka 3.7 no more are asked for than the partition
has replicas (``Partition.effectiveMinIsr``).
"""

from collections.abc import Iterable

from topicwarden.change import Consequence, PartitionEffect, Weight
from topicwarden.plan.change import Change
from topicwarden.plan.consequences.said import count
from topicwarden.plan.evidence import Asks, Evidence, changed


def asks(change: Change, now: int) -> Asks | None:
    return Asks() if changed(change, "min.insync.replicas") else None


def foretell(change: Change, evidence: Evidence) -> Iterable[Consequence]:
    assert change.live and change.before and change.after
    before, after = change.before.number("min.insync.replicas") or 1, change.after.number("min.insync.replicas") or 1
    stopped = [state for state in change.live.replicas if len(state.in_sync) < min(after, len(state.replicas))]
    total = change.live.topic.partitions
    if after > before and stopped:
        lacking = min(len(state.in_sync) for state in stopped)
        yield Consequence(
            kind="min-insync",
            weight=Weight.DANGER,
            message=f"min.insync.replicas goes from {before} to {after}: {len(stopped)} of {count(total, 'partition')} "
            f"would refuse writes with acks=all at this moment, with as few as {lacking} in sync",
            measured="the in-sync replicas of every partition when the cluster was looked at",
            remedy="bring the missing replicas back first",
            evidence={"partitions": len(stopped), "before": before, "after": after},
            partitions=[
                PartitionEffect(partition=state.partition, replicas_before=list(state.in_sync)) for state in stopped
            ],
            place=change.at("config", "min.insync.replicas"),
        )
    elif after > before:
        fewest = min(len(state.in_sync) for state in change.live.replicas)
        yield Consequence(
            kind="min-insync",
            weight=Weight.NOTE,
            message=f"min.insync.replicas goes from {before} to {after}: writes with acks=all survive the loss of "
            f"{count(max(0, fewest - after), 'broker')}, so far {max(0, fewest - before)}",
            measured="the in-sync replicas of every partition when the cluster was looked at",
            evidence={"before": before, "after": after},
            place=change.at("config", "min.insync.replicas"),
        )
    elif after < before:
        yield Consequence(
            kind="min-insync",
            weight=Weight.NOTE,
            message=f"min.insync.replicas goes from {before} to {after}: an acknowledged write may lie on "
            f"{count(after, 'broker')} only, and is lost with it",
            evidence={"before": before, "after": after},
            place=change.at("config", "min.insync.replicas"),
        )
