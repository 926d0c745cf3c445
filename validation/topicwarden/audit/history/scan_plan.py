"""Plan an incremental scan (``--since last``): which offsets of each partition to read, and why if all of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from topicwarden import __version__
from topicwarden.audit.collect.horizon import Horizon, TopicPartition
from topicwarden.audit.history.offset_blocks import StoredPartition
from topicwarden.audit.history.topic_state import (
    Checkpoint,
    KnownPartition,
    PartitionState,
    RememberedRecord,
    TopicState,
)
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.partition_reads import BLOCK, PartitionRead, counted_by_key
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot

CLEANED = "the cleaner removed records"
PERHAPS_LATE = "records are late compared with records that may be deleted"

_CHECKPOINTS = 16
"""The most checkpoints of one partition."""


@dataclass(frozen=True)
class ScanStep:
    """The step for one partition: the offsets to read, and what earlier audits counted.

    ``reason``: why the partition is read in full; empty if it is not. ``whole``: the read of all its records.
    """

    read: PartitionRead
    stored: StoredPartition
    known: KnownPartition | None
    reason: str
    whole: PartitionRead

    @property
    def unchanged(self) -> bool:
        """Return whether earlier audits have counted all records in the log, so that there is nothing to read."""
        return self.known is not None and self.read.range.size == 0 and self.read.reread is None

    def in_full(self, reason: str) -> ScanStep:
        """Return the step that reads all records of the partition."""
        return _full_step(self.whole, self.stored.topic_id, reason, self.stored.start)


def _full_step(whole: PartitionRead, topic_id: str, reason: str, start: int) -> ScanStep:
    return ScanStep(whole, StoredPartition(topic_id, whole.range.partition, start=start), None, reason, whole)


@dataclass(frozen=True)
class WrittenPart:
    """The part that this audit adds for a partition: its name, the records read, and the totals of all keys (JSON).

    The name is None if the audit adds no part, because no partition has new records.
    """

    name: str | None
    read: int
    totals: str


@dataclass(frozen=True)
class HistoryState:
    """The history of the topics of a scan.

    ``states``: the last state of each topic that still has the same id. ``still_present``: the remembered records that
    are still in the log. ``parts``: the names of the parts in ``keys/``. ``kept``: the partitions whose leader has all
    records that the last audit counted.
    """

    states: Mapping[str, TopicState]
    still_present: Mapping[TopicPartition, frozenset[RememberedRecord]]
    parts: frozenset[str]
    kept: frozenset[TopicPartition]


def plan_scan(
    reads: Iterable[PartitionRead], snapshot: Snapshot, rules: Contracts, history: HistoryState
) -> list[ScanStep]:
    """Return one step for each of ``reads``, which are reads of whole partitions."""
    return [_step(read, snapshot.topics[read.range.topic], rules, history) for read in reads]


def has_new_records(topics: Iterable[LiveTopic], states: Mapping[str, TopicState]) -> bool:
    """Return whether the log ends alone show that an audit must read records; ``states`` are the last ones, by topic.

    If not, ``plan_scan`` may still find a reason to read a partition. A topic does not matter if the last audit
    remembered no counts of it: perhaps this user may not read it.
    """
    return any(
        extent.start < extent.end and ends.get(partition) != extent.end
        for live in topics
        if (ends := _known_ends(states.get(live.topic.name), live.id)) is not None
        for partition, extent in live.extents.items()
    )


def _known_ends(state: TopicState | None, topic_id: str) -> dict[int, int] | None:
    """Return the offset before which the records of each partition are known; None if none is known."""
    if state is None or state.topic_id != topic_id:
        return {}
    return {each.partition: each.known.end for each in state.partitions if each.known is not None} or None


def _step(read: PartitionRead, live: LiveTopic, rules: Contracts, history: HistoryState) -> ScanStep:
    state = history.states.get(read.range.topic)
    before = state.partition(read.range.partition) if state else None
    by_key = counted_by_key(read, rules)
    start = 0 if by_key else read.range.start
    if before is None or before.known is None or state is None:
        return _full_step(
            read, live.id, "not read by an earlier audit with --since last (other audits keep no counts for it)", start
        )
    reason = _reason_for_full_read(read, live, before.known, rules, history) or _cleaned(
        read, state, before, live, history.still_present.get(read.topic_partition, frozenset())
    )
    if reason:
        return _full_step(read, live.id, reason, start)
    known = before.known
    log_start, block_end = read.range.start, min(_first_block_end(read), known.end)
    is_cut = not by_key and known.start < log_start < block_end
    reread = replace(read.range, start=log_start, end=block_end) if is_cut else None
    horizon = _lowered_horizon(read, known)
    lowered = (horizon.rolled, horizon.cleanable) != (read.horizon.rolled, read.horizon.cleanable)
    if read.compacted and read.range.end == known.end and lowered and superseded_records(known):
        return _full_step(read, live.id, "a border of the cleaner moved to an offset without known counts", start)
    new = replace(read, range=replace(read.range, start=known.end), horizon=horizon, reread=reread)
    stored = StoredPartition(live.id, read.range.partition, known.parts, known.read, start, known.totals, known.end)
    return ScanStep(new, stored, known, "", read)


def _first_block_end(read: PartitionRead) -> int:
    """Return the end of the block that contains the log start; the log start itself if a block begins there."""
    return -(-read.range.start // BLOCK) * BLOCK


def _reason_for_full_read(
    read: PartitionRead, live: LiveTopic, known: KnownPartition, rules: Contracts, history: HistoryState
) -> str:
    by_key, start = counted_by_key(read, rules), read.range.start
    limits_future = "latest" in (rules.topics.get(read.range.topic, {}).get("records") or {})
    reasons = {
        "the history of keys is incomplete": not set(known.parts) <= history.parts,
        "judged by other rules than last time": known.terms != terms_digest(live, rules),
        "the log was truncated": live.extents[read.range.partition].end < known.end,
        "a smaller part of an internal topic is read than last time": read.range.end < known.end,
        "the leader changed, and the log may have been truncated": read.topic_partition not in history.kept,
        # A killed broker forgets a log start that it has not written to its checkpoint yet.
        "deleted records are present again": start < known.start,
        "all known records were deleted": start >= known.end > known.start,
        "retention deleted records with keys": by_key and start > known.start,
        "records with faults may have been deleted": known.faulty and (start > known.start or limits_future),
        "a compacted topic has records without a key": read.compacted and known.null_keys > 0,
        "records have expired or have a timestamp in the future": read.horizon.future_offset is not None
        or read.horizon.overdue > read.horizon.start
        or (read.horizon.expired_time is not None and read.horizon.unexpired is None),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


def _cleaned(
    read: PartitionRead,
    state: TopicState,
    before: PartitionState,
    live: LiveTopic,
    still_present: frozenset[RememberedRecord],
) -> str:
    """Return why cleaning may have changed the known records; empty if it has not.

    A cleaning removes records of a key before its last one, and expired tombstones (``Cleaner.doClean``). So the known
    records are unchanged if the same replica leads, and the first pair of records with the same key and the first
    tombstone are still present. ``renewed_records`` are those that new records supersede.
    """
    if not read.compacted:
        return ""
    replicas = next(replicas for replicas in live.replicas if replicas.partition == read.range.partition)
    if replicas.leader_epoch is None or replicas.leader_epoch != before.leader_epoch:
        return "the leader changed, and each replica cleans on its own"
    remembered = [record for record in state.remembered_records if record.partition == read.range.partition]
    if any(record not in still_present for record in remembered):
        return CLEANED
    has_pair = any(record.superseded_by is not None for record in remembered)
    return "" if has_pair or not superseded_records(before.known) else "the history lacks records that show a cleaning"


def superseded_records(known: KnownPartition | None) -> int:
    """Return how many of the known records are followed by a record of the same key."""
    return known.checkpoints[-1].records - known.null_keys - known.checkpoints[-1].keys if known else 0


def renewed_records(
    steps: Iterable[ScanStep], counts: Mapping[TopicPartition, PartitionCounts]
) -> dict[TopicPartition, list[RememberedRecord]]:
    """Return for each compacted partition the known record that the first cleaning of new records removes.

    ``counts`` are those of a scan of the new records. If the known record is gone, such a cleaning has taken place.
    """
    pairs = {
        step.read.topic_partition: counts[step.read.topic_partition].renewed
        for step in steps
        if step.known is not None and step.read.compacted and step.read.topic_partition in counts
    }
    return {at: [RememberedRecord(at[1], pair.offset, pair.key, None)] for at, pair in pairs.items() if pair}


def _lowered_horizon(read: PartitionRead, known: KnownPartition) -> Horizon:
    """Return the horizon with borders for which the counts are known.

    These are the current borders, or else the next lower checkpoints of earlier audits.
    """
    start, offsets = read.range.start, [read.range.start, *(checkpoint.offset for checkpoint in known.checkpoints)]

    def lowered(border: int) -> int:
        return border if border >= known.end else max(offset for offset in offsets if offset <= max(border, start))

    rolled = lowered(read.horizon.rolled)
    cleanable = min(lowered(read.horizon.cleanable), rolled)
    return replace(read.horizon, rolled=rolled, cleanable=cleanable, lagging=min(read.horizon.lagging, cleanable))


def complete_counts(step: ScanStep, counts: PartitionCounts) -> PartitionCounts:
    """Return ``counts`` with the known records before the borders added; only needed for compacted partitions."""
    known, horizon = step.known, step.read.horizon
    if known is None or not step.read.compacted:
        return counts
    nothing = Checkpoint(known.start, 0, 0, 0)
    checkpoints = {checkpoint.offset: checkpoint for checkpoint in (nothing, *known.checkpoints)}
    last = known.checkpoints[-1]

    def before(border: int, new: Checkpoint) -> Checkpoint:
        if border < known.end:
            return checkpoints[border]
        return Checkpoint(border, last.records + new.records, last.payload_bytes + new.payload_bytes, new.keys)

    rolled = before(horizon.rolled, Checkpoint(0, counts.rolled, 0, counts.keys_rolled))
    cleanable = before(
        horizon.cleanable, Checkpoint(0, counts.cleanable, counts.cleanable_bytes, counts.keys_cleanable)
    )
    return replace(
        counts,
        rolled=rolled.records,
        cleanable=cleanable.records,
        cleanable_bytes=cleanable.payload_bytes,
        superseded_rolled=rolled.records - rolled.keys,
        superseded_cleanable=cleanable.records - cleanable.keys,
    )


def known_partition(
    step: ScanStep, counts: PartitionCounts, live: LiveTopic, rules: Contracts, written: WrittenPart
) -> KnownPartition:
    """Return what the next audit need not read again; ``counts`` are those of ``complete_counts``."""
    end, horizon = step.read.range.end, step.read.horizon
    by_offset = {checkpoint.offset: checkpoint for checkpoint in (step.known.checkpoints if step.known else ())}
    keys = counts.cleanable - counts.superseded_cleanable
    by_offset[horizon.cleanable] = Checkpoint(horizon.cleanable, counts.cleanable, counts.cleanable_bytes, keys)
    by_offset[end] = Checkpoint(end, counts.records, counts.payload_bytes, counts.keys)
    checkpoints = sorted(by_offset.values(), key=lambda checkpoint: checkpoint.offset)[-_CHECKPOINTS:]
    parts, read = step.stored.parts, step.stored.read
    if written.name is not None:
        parts, read = step.stored.with_part(written.name, written.read)
    return KnownPartition(
        parts=parts,
        read=read,
        terms=terms_digest(live, rules),
        start=horizon.start,
        faulty=bool(counts.faults),
        null_keys=counts.null_keys,
        checkpoints=tuple(checkpoints),
        totals=written.totals,
    )


def terms_digest(live: LiveTopic, rules: Contracts) -> str:
    """Return a digest of all rules for counting and judging records, except for the time of the audit."""
    judged = {name: value for name, value in rules.topics.get(live.topic.name, {}).items() if name != "records"}
    records = rules.topics.get(live.topic.name, {}).get("records") or {}
    decisive = {
        "topicwarden": __version__,  # versions may count differently
        "pairs": "first and second record",
        "partitions": live.topic.partitions,
        "by_key": live.topic.compacted or live.topic.name in rules.by_key,
        "compacted": live.topic.compacted,
        "terms": judged,
        "records": {name: value for name, value in records.items() if name != "latest"},
        "registry": rules.registry_states.get(live.topic.name),
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()
