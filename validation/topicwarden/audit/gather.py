"""The evidence: one snapshot of the cluster, one scan of its topics, a narrow second read of what that leaves open."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from topicwarden.audit.contents import Declared, Scanned, settled
from topicwarden.audit.contracts import Contracts
from topicwarden.audit.counts import Counts, Pair
from topicwarden.audit.following import Surroundings, surroundings
from topicwarden.audit.heads import heads
from topicwarden.audit.history import recall, settle
from topicwarden.audit.history.access import History
from topicwarden.audit.history.continuing import Outcome, held_parts, scan_since
from topicwarden.audit.history.memory import Known, Tombstone, TopicLook, Witness
from topicwarden.audit.history.plan import Memory, Step, plan
from topicwarden.audit.horizon import Horizon, PartitionOf, horizons
from topicwarden.audit.pairs import MOST_PARTITIONS, superseded_pairs
from topicwarden.audit.placement import Placement
from topicwarden.audit.progress import Progress, watched
from topicwarden.audit.request import Request
from topicwarden.audit.scan import scan
from topicwarden.audit.slices import Grave, slices
from topicwarden.audit.stamps import settled_stamps
from topicwarden.audit.subject import Read
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.snapshot import LiveTopic, Snapshot
from topicwarden.problem import Refusal
from topicwarden.verdict import Reading


@dataclass(frozen=True)
class Evidence:
    """What the cluster was found to be, before anything is judged.

    ``looks`` are the last audit's, by topic, ``standing`` what they remember and still is there, ``known`` what the
    next audit need not read again. ``read`` counts the records that were read from Kafka, the rest is remembered.
    """

    snapshot: Snapshot
    horizons: Mapping[PartitionOf, Horizon]
    counts: Mapping[PartitionOf, Counts]
    committed: Mapping[PartitionOf, Counts]
    pairs: Mapping[PartitionOf, tuple[Pair, ...]]
    placements: Mapping[str, Placement]
    scan_seconds: float
    looks: Mapping[str, TopicLook]
    standing: Mapping[PartitionOf, frozenset[Witness]]
    deleted: Mapping[PartitionOf, tuple[Tombstone, ...]]
    known: Mapping[PartitionOf, Known]
    reading: Mapping[PartitionOf, Read]
    coverage: float
    read: int
    around: Surroundings


def gather(spark: SparkSession, request: Request, progress: Progress, history: History) -> Evidence:
    """Refuses where the cluster or Spark gives up; a history that is not to be had is only noted."""
    with open_cluster(request.connection) as cluster:
        snapshot = cluster.snapshot(expected=[declared.topic.name for declared in request.declarations])
        chosen = {name: topic for name, topic in snapshot.topics.items() if request.wants(name)}
        around = surroundings(cluster, snapshot, chosen)
        wanted = [topic for name, topic in chosen.items() if name not in around.unreadable]
        borders = horizons(cluster, snapshot, wanted)
    looks = history.looks(snapshot.cluster_id)
    same = {topic.topic.name: look for topic in wanted if (look := _same(topic, looks)) is not None}
    every = heads(slices(wanted, borders), chosen)
    parts, begun = request.bounds.applied(every), time.monotonic()
    declarations = {held.topic.name: held for held in request.declarations}
    declared = Declared(declarations, request.root, request.registry, request.partition_functions)
    rules = declared.contracts(wanted, snapshot.taken_at)
    try:
        standing = recall.standing(spark, request.connection, _witnesses(same))
        held = held_parts(history.store) if history.store else frozenset()
        steps = plan(every, snapshot, rules, Memory(same, standing, held))
        reading = [step.slice for step in steps] if request.since is Reading.LAST else parts
        with watched(spark, progress, sum(part.range.size for part in reading)):
            outcome = _since_last(spark, request, snapshot, steps, rules, buried=_buried(same), history=history)
            if outcome is None:
                counts = scan(
                    spark,
                    request.connection,
                    parts,
                    snapshot.taken_at,
                    rules,
                    buried=_buried(same),
                    rate=request.bounds.rate,
                )
                known = {step.slice.place: step.known for step in steps if step.known is not None}
                outcome = Outcome(counts, known, sum(each.records for each in counts.values()))
        scan_seconds = time.monotonic() - begun
        with open_cluster(request.connection) as cluster:
            log_starts = cluster.log_starts([part.place for part in parts])
        pairs = superseded_pairs(spark, request.connection, parts, outcome.counts)
        borders |= outcome.horizons
        stamps = settled_stamps(
            spark,
            request.connection,
            [replace(part, horizon=borders[part.place]) for part in parts],
            outcome.counts,
            now=snapshot.taken_at,
            rate=request.bounds.rate,
        )
        borders, counts = borders | stamps[0], {**outcome.counts, **stamps[1]}
        scanned = Scanned(snapshot, tuple(wanted), tuple(parts), counts)
        committed, placements = settled(spark, request.connection, scanned, rules, declared, rate=request.bounds.rate)
        deleted = recall.committed(spark, request.connection, _deleted(snapshot, counts, same))
    except (PySparkException, Py4JJavaError) as error:
        raise Refusal(f"the scan did not end: {_root_cause(error)}; is the cluster still there? audit again") from error
    history.notes += outcome.notes
    total = sum(part.range.size for part in every)
    return Evidence(
        snapshot=snapshot,
        horizons=borders,
        counts=counts,
        committed=committed,
        pairs=pairs,
        placements=placements,
        scan_seconds=scan_seconds,
        looks=looks,
        standing=standing,
        deleted=deleted,
        known=outcome.known,
        reading={
            part.place: Read(part.range.start, part.range.end, log_starts.get(part.place, part.range.start))
            for part in parts
        },
        coverage=sum(part.range.size for part in parts) / total if total else 1.0,
        read=outcome.read,
        around=around,
    )


def _since_last(
    spark: SparkSession,
    request: Request,
    snapshot: Snapshot,
    steps: list[Step],
    rules: Contracts,
    *,
    buried: list[Grave],
    history: History,
) -> Outcome | None:
    """The scan of what is new, with what is known; None where that is not asked for, or cannot be, and why is noted."""
    if request.since is not Reading.LAST:
        return None
    if history.store is None or snapshot.cluster_id is None:
        history.notes.append("nothing is remembered (--history none): everything was read")
        return None
    done = scan_since(
        spark, request.connection, steps, snapshot, rules, buried=buried, store=history.store, rate=request.bounds.rate
    )
    if done is None:
        history.doubt("cannot be used for --since last: everything was read")
    return done


def _same(topic: LiveTopic, looks: Mapping[str, TopicLook]) -> TopicLook | None:
    look = looks.get(topic.topic.name)
    return look if look is not None and look.topic_id == topic.id else None


def _buried(looks: Mapping[str, TopicLook]) -> list[Grave]:
    return [(name, one.partition, one.key, one.offset) for name, look in looks.items() for one in look.tombstones]


def _witnesses(looks: Mapping[str, TopicLook]) -> dict[PartitionOf, list[Witness]]:
    found: dict[PartitionOf, list[Witness]] = {}
    for name, look in looks.items():
        for one in look.witnesses:
            found.setdefault((name, one.partition), []).append(one)
    return found


def _deleted(
    snapshot: Snapshot, counts: Mapping[PartitionOf, Counts], looks: Mapping[str, TopicLook]
) -> dict[PartitionOf, list[Tombstone]]:
    """Tombstones of compacted topics that are not remembered yet, of a bounded number of partitions."""
    known = {(name, one.partition, one.offset) for name, look in looks.items() for one in look.tombstones}
    found = {
        (name, partition): [
            Tombstone(partition, offset, key)
            for key, offset in sorted(held.deleted)[: settle.MOST_TOMBSTONES]
            if (name, partition, offset) not in known
        ]
        for (name, partition), held in counts.items()
        if held.deleted and snapshot.topics[name].topic.compacted
    }
    return dict([(place, stones) for place, stones in found.items() if stones][:MOST_PARTITIONS])


def _root_cause(error: Exception) -> str:
    """What went wrong first: Spark wraps a task's failure several times, with a stack trace in each message."""
    cause = error.java_exception if isinstance(error, Py4JJavaError) else None
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    said = str(error) if cause is None else str(cause.getMessage() or cause.getClass().getName())
    return said.strip().partition("\n")[0]
