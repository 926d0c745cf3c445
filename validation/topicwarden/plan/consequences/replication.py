"""Replicas that have to be moved: what is copied, whereto, how long it takes, and what the topic then survives.

`pulumi up` moves none: the provider would add replicas on brokers at random, blind to racks and without a
throttle. `topicwarden rebalance` does.
"""

from collections.abc import Iterable

from topicwarden.model.planned_change import Consequence, PartitionEffect, Severity
from topicwarden.model.topic import Allowance
from topicwarden.plan.placement.durability import durability_after, durability_now, received, seconds
from topicwarden.plan.placement.replica_placement import ReplicaMove
from topicwarden.plan.plan_evidence import PlanEvidence, RequiredEvidence
from topicwarden.plan.required_allowance import remedy_of, weight_of
from topicwarden.plan.topic_change import TopicChange, place_of
from topicwarden.plan.wording import count, survives

AVOIDABLE = False
THROTTLE = 50 << 20
"""Bytes a second into and out of each broker: what `topicwarden rebalance` takes where it is told nothing else."""


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.live is None or change.declaration is None:
        return None
    return (
        RequiredEvidence()
        if change.declaration.topic.replication_factor != change.live.topic.replication_factor
        else None
    )


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.live and change.declaration
    declared, live = change.declaration.topic, change.live
    for problem in evidence.placement.problems:
        if problem.rule == "too-few-brokers" and problem.message.startswith(f"{change.name}:"):
            yield Consequence(
                kind="too-few-brokers",
                weight=Severity.REFUSED,
                message=problem.message.partition(": ")[2],
                place=place_of(problem.location),
            )
            return
    moves = [move for move in evidence.placement.moves if move.topic == change.name]
    now, then = (
        durability_now(live, evidence.snapshot),
        durability_after(declared, live, moves, evidence.snapshot),
    )
    known = all(move.bytes_to_copy is not None for move in moves)
    copied = sum(received(moves).values()) if known else None
    fewer = declared.replication_factor < max(len(state.replicas) for state in live.replicas)
    weight = (
        weight_of(change, Allowance.REDUCE_REPLICAS)
        if fewer
        else Severity.DANGER
        if then.losses_writing < 0
        else Severity.NOTE
    )
    yield Consequence(
        kind="replication-factor",
        weight=weight,
        message=f"replication factor {live.topic.replication_factor} to {declared.replication_factor}: "
        f"`pulumi up` leaves the replicas where they are; `topicwarden rebalance` {_work(moves, copied)}",
        because=[f"{survives('now', now)}; {survives('then', then)}"],
        measured=f"the leaders' log sizes, at {THROTTLE >> 20} MiB/s into and out of each broker (--throttle)",
        remedy=(fewer and remedy_of(change, Allowance.REDUCE_REPLICAS, "keep the replicas"))
        or "run `topicwarden rebalance` after the deploy",
        evidence={
            "bytes": copied,
            "seconds_at_least": round(seconds(moves, THROTTLE), 1) if known else None,
            **{f"bytes to broker {broker}": amount if known else None for broker, amount in received(moves).items()},
            "losses_survived_reading_before": now.losses_reading,
            "losses_survived_reading_after": then.losses_reading,
            "losses_survived_writing_before": now.losses_writing,
            "losses_survived_writing_after": then.losses_writing,
            "racks_before": now.racks,
            "racks_after": then.racks,
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
        place=change.at("replication_factor"),
    )


def _work(moves: list[ReplicaMove], copied: int | None) -> str:
    """Return what `topicwarden rebalance` does; ``copied`` is None if a log's size is not known."""
    partitions = count(len(moves), "partition")
    if not any(move.added for move in moves):
        return f"drops replicas of {partitions}, and copies nothing"
    if copied is None:
        return f"copies {partitions}, of which the brokers did not tell how large all logs are (Describe on Cluster)"
    took = seconds(moves, THROTTLE)
    return (
        f"copies {copied:,} bytes for {partitions}, in {took:,.0f} s at least"
        if took >= 1
        else (f"copies {copied:,} bytes for {partitions}")
    )
