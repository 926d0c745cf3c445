"""Partitions are added, so keys move to other partitions.

A producer puts a key into partition ``hash(key) mod n``. With another ``n`` most keys go to another partition from then
on, while their old records stay in the old one. Readers no longer see the records of one key in order. Compaction
cannot merge them across partitions. A join with a topic of the old partition count finds no partners. The state of a
Streams application is in the wrong task (KIP-253 was never implemented).

Consumers find new partitions when they refresh their metadata, up to ``metadata.max.age.ms`` later (5 min). With
``auto.offset.reset=latest`` they begin at the end of a partition without a committed offset, and never read the records
that were written before (KAFKA-12261, KIP-1327). Brokers do not report this setting, which is a consumer's own.
"""

from collections.abc import Iterable
from math import lcm
from typing import Final

from topicwarden.kafka.read.partition_functions import PARTITIONERS
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence
from topicwarden.model.message_text import counted
from topicwarden.model.planned_change import Consequence, Severity
from topicwarden.plan.consequence_text import UNSEEN_GROUPS, shorten

AVOIDABLE = False
_DEFAULT = "murmur2"


def needs(change: TopicChange, now: int) -> RequiredEvidence | None:
    if change.live is None or change.after is None or change.after.partitions <= change.live.topic.partitions:
        return None
    return RequiredEvidence(groups=True, newest_records=True)


def evaluate(change: TopicChange, evidence: PlanEvidence) -> Iterable[Consequence]:
    assert change.live and change.after and change.declaration
    before, after = change.live.topic.partitions, change.after.partitions
    contents = change.declaration.topic.contents
    declared = contents.key.partitioner
    custom_partitioner = contents.key.partition_expression or contents.key.partition_function
    newest = evidence.newest_records
    keys = sorted(newest.keys) if newest else []
    if newest is not None and not keys and not contents.key.required:
        missed = [*([] if evidence.groups_complete else [UNSEEN_GROUPS]), *_missed_records(evidence)]
        yield Consequence(
            kind="more-partitions",
            severity=Severity.DANGER if missed else Severity.NOTE,
            message=f"from {before} to {after} partitions; no key moves, because "
            + (
                "the topic has no keys"
                if newest.complete
                else f"none of the newest {counted(newest.records, 'record')} has one"
            ),
            because=missed,
            measured=_measured(newest.records, newest.complete) if newest.records else "the topic is empty",
            remedy=_READ_FROM_START if missed else "",
            evidence={"records_read": newest.records, "keys": 0},
            location=change.at("partitions"),
        )
        return
    partition_of = None if custom_partitioner else PARTITIONERS.get(declared or _DEFAULT)
    moved = None if partition_of is None else sum(partition_of(key, before) != partition_of(key, after) for key in keys)
    share = moved / len(keys) if keys and moved is not None else 1 - unmoved_share(before, after)
    yield Consequence(
        kind="more-partitions",
        severity=Severity.DANGER,
        message=f"from {before} to {after} partitions {share:.1%} of the keys move to another partition under "
        + (
            declared
            or (
                "a custom partitioner" if custom_partitioner else f"{_DEFAULT} (Java's default; the YAML declares none)"
            )
        ),
        because=[*_broken_guarantees(change, evidence), *_missed_records(evidence)],
        measured=(
            f"{moved:,} of {counted(len(keys), 'distinct key')}; {_measured(newest.records, newest.complete)}"
            if keys and newest and moved is not None
            else f"arithmetic for evenly spread hashes: {_estimated_because(evidence, bool(custom_partitioner))}"
        ),
        remedy="if order by key or compaction matters, move to a new topic and read both topics for a while; "
        + _READ_FROM_START,
        evidence={"share": round(share, 4), "keys": len(keys) if newest else None, "moved": moved if newest else None},
        location=change.at("partitions"),
    )


_READ_FROM_START: Final = (
    "consumers with auto.offset.reset=earliest, or by_duration, lose none of the first records of new partitions"
)


def _missed_records(evidence: PlanEvidence) -> Iterable[str]:
    """Yield the groups that can lose the first records of new partitions. Share groups have no such setting."""
    groups = [group.name for group in evidence.groups if not group.share]
    if groups:
        yield (
            f"{shorten(groups)} can lose the first records of the new partitions: a consumer with "
            "auto.offset.reset=latest (the default) finds them up to metadata.max.age.ms (5 min) later, and begins at "
            "their ends"
        )


def unmoved_share(before: int, after: int) -> float:
    """Return the share of hashes that give the same partition with both partition counts.

    Both remainders are the same number only if the hash is this number, up to a multiple of both counts.
    """
    return min(before, after) / lcm(before, after)


def _estimated_because(evidence: PlanEvidence, custom_partitioner: bool) -> str:
    if custom_partitioner:
        return "the declared partitioner cannot be run here"
    return "no record has a key" if evidence.newest_records else "the records could not be read (Read on the topic)"


def _broken_guarantees(change: TopicChange, evidence: PlanEvidence) -> Iterable[str]:
    assert change.live
    groups = evidence.groups
    if not evidence.groups_complete:
        yield UNSEEN_GROUPS
    readers = f" for {shorten([group.name for group in groups])}" if groups else ""
    yield f"records of one key are no longer read in the order in which they were written{readers}"
    if change.live.topic.compacted:
        yield "old and new records of a key are in two partitions: compaction can never merge them"
    partners = sorted(
        {
            name
            for group in groups
            for name in group.topics - {change.name}
            if (other := evidence.snapshot.topics.get(name)) and other.topic.partitions == change.live.topic.partitions
        }
    )
    if partners:
        yield f"no longer co-partitioned with {shorten(partners)}, which the same groups read: joins miss records"
    streams = [
        group.name
        for group in groups
        if any(
            name.startswith(f"{group.name}-") and name.endswith(("-changelog", "-repartition"))
            for name in evidence.snapshot.topics
        )
    ]
    if streams:
        yield f"the Streams state of {shorten(streams)} is in the wrong tasks, and the application will not start"


def _measured(records: int, whole: bool) -> str:
    read = "all" if whole else "the newest"
    return f"{read} {counted(records, 'record')} {'was' if records == 1 else 'were'} read"
