"""What has to be read, where the last audit knows the rest (``--since last``): by partition, or why all of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from topicwarden import __version__
from topicwarden.audit.collect.horizon import Horizon, PartitionOf
from topicwarden.audit.contents.contracts import Contracts
from topicwarden.audit.history.stored_partitions import StoredPartition
from topicwarden.audit.history.topic_state import (
    Checkpoint,
    KnownPartition,
    PartitionState,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.partition_reads import BLOCK, PartitionRead, by_keys
from topicwarden.kafka.snapshot import LiveTopic, Snapshot

_CHECKPOINTS = 16


@dataclass(frozen=True)
class ScanStep:
    """One partition: what is read of it, and what is known; ``why`` all of it is read, empty where it is not."""

    slice: PartitionRead
    held: StoredPartition
    known: KnownPartition | None
    why: str = ""


@dataclass(frozen=True)
class WrittenPart:
    """What this audit adds to the history of a partition: a part's name, its records, and the totals of all keys."""

    name: str
    read: int
    totals: str


@dataclass(frozen=True)
class HistoryState:
    """What is remembered of the topics of a scan: the last looks, by topic, at the same topics by id; what of it
    ``standing`` was found again; and the ``parts`` of keys that the history still holds.
    """

    looks: Mapping[str, TopicState]
    standing: Mapping[PartitionOf, frozenset[RememberedRecord]]
    parts: frozenset[str]


def plan(every: Iterable[PartitionRead], snapshot: Snapshot, rules: Contracts, memory: HistoryState) -> list[ScanStep]:
    """A step a partition."""
    return [_step(one, snapshot.topics[one.range.topic], rules, memory) for one in every]


def _step(one: PartitionRead, live: LiveTopic, rules: Contracts, memory: HistoryState) -> ScanStep:
    whole = StoredPartition(live.id, one.range.partition)
    look = memory.looks.get(one.range.topic)
    before = look.partition(one.range.partition) if look else None
    if before is None or before.known is None or look is None:
        return ScanStep(one, whole, None, "not known from an audit with --since last")
    why = _why_all(one, live, before.known, rules, memory.parts) or _cleaned(
        one, look, before, live, memory.standing.get(one.place, frozenset())
    )
    if why:
        return ScanStep(one, whole, None, why)
    known, by_key = before.known, by_keys(one, rules)
    begun, rest = one.range.start, min(_block_end(one), known.end)
    again = replace(one.range, start=begun, end=rest) if not by_key and begun < rest else None
    lowered = _lowered(one, known)
    new = replace(one, range=replace(one.range, start=known.end), horizon=lowered, again=again)
    return ScanStep(
        new,
        replace(whole, parts=known.parts, read=known.read, start=0 if by_key else begun, totals=known.totals),
        known,
    )


def _block_end(one: PartitionRead) -> int:
    """Where the block ends that the log begins in; the log's start where that is the first of a block."""
    return -(-one.range.start // BLOCK) * BLOCK


def _why_all(
    one: PartitionRead, live: LiveTopic, known: KnownPartition, rules: Contracts, parts: frozenset[str]
) -> str:
    by_key, start = by_keys(one, rules), one.range.start
    recounted = not by_key and start < _block_end(one)
    ahead = "latest" in (rules.topics.get(one.range.topic, {}).get("records") or {})
    reasons = {
        "the history of keys is incomplete": not set(known.parts) <= parts,
        "judged by other rules than last time": known.terms != terms(live, rules),
        "truncated since": one.range.end < known.end,
        "nothing is left of what was known": start >= known.end > known.start,
        "keys were deleted by retention since": by_key and start > known.start,
        "records with faults may have been deleted since": known.faulty and (start > known.start or recounted or ahead),
        "records without a key in a compacted topic": one.compacted and known.null_keys > 0,
        "expired records, or such as are stamped in the future": one.horizon.future_offset is not None
        or one.horizon.overdue > one.horizon.start
        or (one.horizon.expired_time is not None and one.horizon.unexpired is None),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _cleaned(
    one: PartitionRead, look: TopicState, before: PartitionState, live: LiveTopic, standing: frozenset[RememberedRecord]
) -> str:
    """Compacted: the pairs that were remembered stand, at the same leader, so that no cleaning has passed them."""
    if not one.compacted:
        return ""
    leader = next(state for state in live.replicas if state.partition == one.range.partition)
    if leader.leader_epoch is None or leader.leader_epoch != before.leader_epoch:
        return "led by another replica since, which cleans on its own"
    pairs = [w for w in look.witnesses if w.partition == one.range.partition]
    return "" if all(witness in standing for witness in pairs) else "cleaned since"


def _lowered(one: PartitionRead, known: KnownPartition) -> Horizon:
    """Borders at which it is known how many records lie below: those of today, or the next lower of earlier audits."""
    start, places = one.range.start, [one.range.start, *(point.offset for point in known.checkpoints)]

    def at(border: int) -> int:
        return border if border >= known.end else max(place for place in places if place <= max(border, start))

    rolled = at(one.horizon.rolled)
    cleanable = min(at(one.horizon.cleanable), rolled)
    return replace(one.horizon, rolled=rolled, cleanable=cleanable, lagging=min(one.horizon.lagging, cleanable))


def completed(step: ScanStep, counts: PartitionCounts) -> PartitionCounts:
    """Counts of a partition of which a part was known: what lies below the borders, with what lay there before."""
    known, horizon = step.known, step.slice.horizon
    if known is None or not step.slice.compacted:
        return counts
    nothing = Checkpoint(known.start, 0, 0, 0)
    below = {point.offset: point for point in (nothing, *known.checkpoints)}
    last = known.checkpoints[-1]

    def under(border: int, new: Checkpoint) -> Checkpoint:
        if border < known.end:
            return below[border]
        return Checkpoint(border, last.records + new.records, last.payload_bytes + new.payload_bytes, new.keys)

    rolled = under(horizon.rolled, Checkpoint(0, counts.rolled, 0, counts.keys_rolled))
    cleanable = under(horizon.cleanable, Checkpoint(0, counts.cleanable, counts.cleanable_bytes, counts.keys_cleanable))
    return replace(
        counts,
        rolled=rolled.records,
        cleanable=cleanable.records,
        cleanable_bytes=cleanable.payload_bytes,
        superseded_rolled=rolled.records - rolled.keys,
        superseded_cleanable=cleanable.records - cleanable.keys,
    )


def now_known(
    step: ScanStep, counts: PartitionCounts, live: LiveTopic, rules: Contracts, written: WrittenPart
) -> KnownPartition:
    """What the next audit may rely on; ``counts`` are complete."""
    end, horizon = step.slice.range.end, step.slice.horizon
    points = {point.offset: point for point in (step.known.checkpoints if step.known else ())}
    held = counts.cleanable - counts.superseded_cleanable
    points[horizon.cleanable] = Checkpoint(horizon.cleanable, counts.cleanable, counts.cleanable_bytes, held)
    points[end] = Checkpoint(end, counts.records, counts.payload_bytes, counts.keys)
    kept = sorted(points.values(), key=lambda point: point.offset)[-_CHECKPOINTS:]
    parts, read = step.held.then(written.name, written.read)
    return KnownPartition(
        parts=parts,
        read=read,
        terms=terms(live, rules),
        start=horizon.start,
        faulty=bool(counts.faults),
        null_keys=counts.null_keys,
        checkpoints=tuple(kept),
        totals=written.totals,
    )


def terms(live: LiveTopic, rules: Contracts) -> str:
    """A digest of what decides how records are counted and judged; not of the moment at which they are."""
    judged = {name: value for name, value in rules.topics.get(live.topic.name, {}).items() if name != "records"}
    records = rules.topics.get(live.topic.name, {}).get("records") or {}
    told = {
        "topicwarden": __version__,  # what is counted, and how, may differ from one to the next
        "partitions": live.topic.partitions,
        "by_key": live.topic.compacted or live.topic.name in rules.by_key,
        "compacted": live.topic.compacted,
        "terms": judged,
        "records": {name: value for name, value in records.items() if name != "latest"},
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
