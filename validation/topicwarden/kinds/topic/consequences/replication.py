"""The replication factor changes: bytes to copy, target brokers, duration, and lost brokers that the topic survives.

`pulumi up` does not move replicas, because the provider would add them on random brokers, without regard to racks and
without a throttle. `topicwarden rebalance` moves them.
"""

from collections.abc import Iterable

from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.kinds.topic.loss_severity import remedy_of, severity_of
from topicwarden.model.change_terms import Action
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, PartitionEffect, Severity
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import duration_text, size_text
from topicwarden.plan.consequence_text import durability_text
from topicwarden.plan.placement.durability import durability_after, durability_now, received, seconds
from topicwarden.plan.placement.replica_placement import ReplicaMove

AVOIDABLE = False
THROTTLE = 50 << 20
"""Default throttle of `topicwarden rebalance`, in bytes per second into and out of each broker."""


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.action is Action.CREATE:
        return RequiredEvidence()
    if change.live is None or change.declaration is None:
        return None
    return (
        RequiredEvidence()
        if change.declaration.topic.replication_factor != change.live.topic.replication_factor
        else None
    )


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    for problem in evidence.placement.problems:
        if problem.rule == "too-few-brokers" and problem.message.startswith(f"{change.name}:"):
            yield Consequence(
                kind="too-few-brokers",
                severity=Severity.REFUSED,
                message=problem.message.partition(": ")[2],
                location=problem.location,
            )
            return
    if change.live is None:
        return
    assert change.declaration
    declared, live = change.declaration.topic, change.live
    moves = [move for move in evidence.placement.moves if move.topic == change.name]
    before = durability_now(live, evidence.snapshot)
    after = durability_after(declared, live, moves, evidence.snapshot)
    sizes_known = all(move.bytes_to_copy is not None for move in moves)
    copied = sum(received(moves).values()) if sizes_known else None
    fewer = declared.replication_factor < max(len(state.replicas) for state in live.replicas)
    severity = (
        severity_of(change, AllowedChange.REDUCE_REPLICAS)
        if fewer
        else Severity.DANGER
        if after.losses_writing < 0
        else Severity.NOTE
    )
    yield Consequence(
        kind="replication-factor",
        severity=severity,
        message=f"replication factor {live.topic.replication_factor} to {declared.replication_factor}: "
        "`pulumi up` leaves the replicas where they are; "
        f"`topicwarden rebalance` {_rebalance_text(moves, copied, evidence)}",
        because=[f"{durability_text('now', before)}; {durability_text('then', after)}"],
        measured=f"the leaders' log sizes, at {THROTTLE >> 20} MiB/s into and out of each broker (--throttle)",
        remedy=(fewer and remedy_of(change, AllowedChange.REDUCE_REPLICAS, "keep the replicas"))
        or "run `topicwarden rebalance` after the deploy",
        evidence={
            "bytes": copied,
            "seconds_at_least": round(seconds(moves, THROTTLE), 1) if sizes_known else None,
            **{
                f"bytes to broker {broker}": amount if sizes_known else None
                for broker, amount in received(moves).items()
            },
            "losses_survived_reading_before": before.losses_reading,
            "losses_survived_reading_after": after.losses_reading,
            "losses_survived_writing_before": before.losses_writing,
            "losses_survived_writing_after": after.losses_writing,
            "racks_before": before.racks,
            "racks_after": after.racks,
        },
        partitions=[
            PartitionEffect(
                partition=move.partition,
                bytes=move.bytes_to_copy,
                replicas_before=list(move.before),
                replicas_after=list(move.after),
            )
            for move in moves
        ],
        location=change.at("replication_factor"),
    )


def _rebalance_text(moves: list[ReplicaMove], copied: int | None, evidence: PlanEvidence) -> str:
    """Return what `topicwarden rebalance` does; ``copied`` is None if the size of a log is unknown."""
    partitions = counted(len(moves), "partition")
    if not any(move.added for move in moves):
        return f"drops replicas of {partitions}, and copies nothing"
    if copied is None:
        reason, _ = evidence.snapshot.log_dirs.missing_sizes()
        return f"copies {partitions}; the brokers did not report the size of all logs: {reason}"
    at_least = seconds(moves, THROTTLE)
    return (
        f"copies {size_text(copied)} for {partitions}, in {duration_text(at_least * 1_000)} at least"
        if at_least >= 1
        else f"copies {size_text(copied)} for {partitions}"
    )
