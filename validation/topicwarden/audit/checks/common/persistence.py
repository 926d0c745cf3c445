"""Compare this audit with the previous one: which facts are unchanged, and what that proves about the broker."""

from __future__ import annotations

from typing import Final

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.collect.horizon import CLOCK_MS, roll_time
from topicwarden.audit.evidence import Counts, Live, PreviousState
from topicwarden.audit.history.topic_state import RememberedRecord
from topicwarden.audit.scan.counts import SupersededPair
from topicwarden.kafka.read.effective_defaults import once_for_all_topics
from topicwarden.kafka.read.snapshot import PartitionExtent, PartitionReplicas, Snapshot, log_directories
from topicwarden.model.verdict import Verdict

_DEFAULT_BACKOFF_MS = 15_000
_MAX_AHEAD_SETTING = "message.timestamp.after.max.ms"
_CLEANED_BYTES_PER_SECOND = 5 << 20
"""The assumed minimum throughput of one cleaner thread, which may have to clean every other log first."""
_CLEANER_LIMIT_SETTING, _NO_LIMIT = "log.cleaner.io.max.bytes.per.second", "inf"
_CLEANER_TRANSFERS = 3
"""How often the limit counts a byte of a log: the cleaner reads it for the offsets of keys, reads it again, and writes
it (``Cleaner.buildOffsetMapForSegment``, ``Cleaner.cleanInto``)."""

OUT_OF_SYNC = "a replica is out of sync, and brokers delete only records that all in-sync replicas have"
MOVES_BETWEEN_DISKS = "the leader moves the log to another disk, and neither deletes nor cleans the log until then"


def replicas(subject: Live, partition: int) -> PartitionReplicas | None:
    """Return the leader and the replicas of a partition; None if the topic has no such partition."""
    return next((state for state in subject.live.replicas if state.partition == partition), None)


def extent(subject: Live, partition: int) -> PartitionExtent | None:
    """Return the offsets and the size of a partition's log; None if the partition has no leader."""
    return subject.live.extents.get(partition)


def moves_between_disks(subject: Live, partition: int) -> bool:
    """Return whether the leader of the partition moves its log to another disk."""
    log = extent(subject, partition)
    return log is not None and log.moves_between_disks


def all_in_sync(subject: Live, partition: int) -> bool:
    """Return whether every replica of the partition is in sync."""
    state = replicas(subject, partition)
    return state is not None and len(state.in_sync) == len(state.replicas)


def same_leader(subject: Live, partition: int) -> bool:
    """Return whether one broker led the partition without interruption since the previous audit.

    False if this is not known.
    """
    before, now = subject.past.partition(partition), replicas(subject, partition)
    return (
        before is not None
        and now is not None
        and before.leader == now.leader
        and before.leader_epoch is not None
        and before.leader_epoch == now.leader_epoch
    )


def leader_facts(subject: Live, partition: int) -> dict[str, int]:
    """Return the leader epoch as a tracked fact; empty if the epoch is not known.

    Observations under one leader say nothing about another leader. A broker that restarts leads in a new epoch. While
    the broker is down, it does not clean, delete or end transactions.
    """
    state = replicas(subject, partition)
    return {} if state is None or state.leader_epoch is None else {"leader_epoch": state.leader_epoch}


def log_start_facts(subject: Live, partition: int) -> dict[str, int]:
    """Return the leader epoch, the log start offset, and what slows down the leader's deletion and cleaning.

    Record ages are only valid from the time this log start was first seen. Brokers change the limit of the cleaner
    without a restart, and a new limit says nothing about the time before. Neither does the time of a move between disks
    (``ReplicaManager.alterReplicaLogDirs``, ``LogCleanerManager``).
    """
    log, throughput = extent(subject, partition), _cleaned_bytes_per_second(subject.snapshot, _CLEANER_LIMIT_SETTING)
    limited = subject.compacted and throughput < _CLEANED_BYTES_PER_SECOND
    return (
        leader_facts(subject, partition)
        | ({} if log is None else {"start": log.start})
        | ({"cleaned_bytes_per_second": throughput} if limited else {})
        | ({"moves_between_disks": 1} if moves_between_disks(subject, partition) else {})
    )


def deletion_pause(subject: Live, partition: int) -> str | None:
    """Return why the leader deletes no records of the partition now; None if nothing stops it."""
    if not all_in_sync(subject, partition):
        return OUT_OF_SYNC
    return MOVES_BETWEEN_DISKS if moves_between_disks(subject, partition) else None


def latest_hidden_timestamp(subject: Live, partition: int, persisted_ms: int) -> int | None:
    """Return an upper bound for the timestamps of records before the log start, in its first segment.

    DeleteRecords moves the log start into a segment, and the whole segment stays on disk. The broker judges the age of
    a segment by its youngest record, visible or not.

    The hidden records were written before the log start was first seen, ``persisted_ms`` ago. Their timestamps are at
    most ``message.timestamp.after.max.ms`` ahead of that time. No timestamp is later than the latest timestamp of the
    log, which brokers report whether that record is readable or not.

    Returns:
        Milliseconds since the epoch; 0 if no record is hidden, None if there is no bound.
    """
    log = extent(subject, partition)
    if log is not None and log.start == 0:
        return 0
    max_ahead = subject.number(_MAX_AHEAD_SETTING)
    written = None if max_ahead is None else subject.snapshot.taken_at - persisted_ms + max_ahead + CLOCK_MS
    latest = log.latest_timestamp if log is not None else None
    return min((bound for bound in (written, latest) if bound is not None), default=None)


def repeated_verdict(persisted_ms: int | None, grace_ms: int, explanation: str | None) -> Verdict:
    """Return the verdict on facts that several audits have seen unchanged.

    Args:
        persisted_ms: for how long every audit has seen the facts; None if the previous audit did not see them.
        grace_ms: how long a healthy broker may leave the facts unchanged.
        explanation: a legitimate cause that this audit cannot exclude; None if there is none.

    Returns:
        ``fail`` if the facts persisted for longer than the grace period and have no explanation. ``suspect`` if the
        next audit can settle the question. ``pass`` if there is an explanation, because a suspect that every audit
        repeats helps nobody.
    """
    if explanation is not None:
        return Verdict.PASS
    return Verdict.FAIL if persisted_ms is not None and persisted_ms > grace_ms else Verdict.SUSPECT


def unrolled_segment_reason(subject: Live, partition: int, persisted_ms: int | None) -> str | None:
    """Return why the segment of a superseded pair may not be cleaned; None if there is no reason.

    A first audit never has a reason, because it does not know the earlier settings. The next audit settles the case.
    """
    if subject.past.state is None:
        return None
    if moves_between_disks(subject, partition):
        return MOVES_BETWEEN_DISKS
    if subject.shaped_from(partition) is not None and not rolled_under_known_settings(subject, partition):
        return (
            "no record was appended since the first audit that saw the settings: the segment may be active, "
            "and the cleaner does not clean the active segment"
        )
    if persisted_ms is not None and not first_segment_rolled(subject, partition, persisted_ms):
        return (
            "the log does not start at offset 0: records that DeleteRecords hid may be young enough to keep its first "
            "segment from rolling, or to be within min.compaction.lag.ms"
        )
    return None


def first_segment_rolled(subject: Live, partition: int, persisted_ms: int) -> bool:
    """Return whether the first segment has certainly rolled and passed ``min.compaction.lag.ms``.

    This takes into account the records before the log start that DeleteRecords may have hidden.
    """
    hidden, log = latest_hidden_timestamp(subject, partition, persisted_ms), extent(subject, partition)
    if hidden is None or log is None:
        return False
    longest_roll, lag = roll_time(subject.live.topic) or 0, subject.number("min.compaction.lag.ms") or 0
    latest = log.latest_timestamp or 0
    return hidden == 0 or (latest > hidden + longest_roll and (lag == 0 or subject.snapshot.taken_at - lag > hidden))


def rolled_under_known_settings(subject: Live, partition: int) -> bool:
    """Return whether the roll certificate rests on a record that was written under settings that audits saw.

    Otherwise a segment may be as long as an older ``segment.ms`` allowed, and still be active.
    """
    known_from, log = subject.shaped_from(partition), extent(subject, partition)
    return (
        known_from is not None and log is not None and log.latest_offset is not None and log.latest_offset >= known_from
    )


def first_superseded_pair(subject: Counts, partition: int) -> SupersededPair | None:
    """Return the superseded pair to judge: the remembered pair if it is still present, else the first pair."""
    remembered = [
        SupersededPair(record.offset, record.superseded_by, record.key)
        for record in subject.past.still_present
        if record.partition == partition and record.superseded_by is not None
    ]
    counts = subject.counts.get(partition)
    earliest = (counts.earliest_pair,) if counts and counts.earliest_pair and subject.compacted else ()
    pairs = remembered or subject.pairs.get(partition) or earliest
    return min(pairs, key=lambda pair: pair.superseded_by, default=None)


def removed_by_cleaner(subject: PreviousState, partition: int) -> tuple[RememberedRecord, ...]:
    """Return the remembered records that are gone, although the log was not truncated or deleted up to them.

    Only the cleaner removes single records. So the cleaner has run since the previous audit, at least up to these
    records.
    """
    before, log = subject.previous.partition(partition), extent(subject, partition)
    if before is None or log is None or log.end < before.end:
        return ()
    return tuple(
        record
        for record in subject.previous.remembered_records
        if record.partition == partition and record.offset >= log.start and record not in subject.past.still_present
    )


def uncompacted_since(subject: Live) -> int | None:
    """Return the time (ms) since which audits have seen that the topic is not compacted.

    None if no earlier audit saw its present cleanup policy. Records that arrived before may have been compacted.
    """
    past, policy = subject.past.state, subject.live.topic.config.get("cleanup.policy")
    if past is None or policy is None or subject.compacted or past.settings.get("cleanup.policy") != policy:
        return None
    return past.since.get("cleanup.policy")


def unknown_grace_remedy(snapshot: Snapshot) -> str:
    """Return what to do if ``cleaner_grace_ms``, or the brokers' check interval, is not known."""
    if snapshot.broker_configs and snapshot.log_dirs.errors:
        return snapshot.log_dirs.missing_sizes()[1]
    return "grant DescribeConfigs and Describe on the Cluster resource"


def cleaner_grace_ms(subject: AuditedTopic) -> int | None:
    """Return how long a healthy cleaner may leave a log uncleaned, in milliseconds.

    This is twice ``log.cleaner.backoff.ms``, plus the time in which one thread cleans every compacted log of the
    cluster, also of other teams, within ``log.cleaner.io.max.bytes.per.second``. A log whose settings or topic this
    user may not see counts as compacted. None if the brokers' settings or log sizes are not known.
    """
    sizes = [
        log.log_bytes
        for live in subject.snapshot.topics.values()
        if live.topic.compacted or not live.sources
        for log in live.extents.values()
    ]
    known_sizes = [size for size in sizes if size is not None]
    backoff = subject.snapshot.broker_number("log.cleaner.backoff.ms", _DEFAULT_BACKOFF_MS)
    if not known_sizes or backoff is None:
        return None
    cleaned = sum(known_sizes) + subject.snapshot.other_log_bytes
    throughput = _cleaned_bytes_per_second(subject.snapshot, _CLEANER_LIMIT_SETTING)
    return 2 * backoff + CLOCK_MS + cleaned * 1_000 // throughput


@once_for_all_topics
def _cleaned_bytes_per_second(snapshot: Snapshot, setting: str) -> int:
    """Return how many bytes of logs a healthy cleaner cleans in a second on the broker with the lowest ``setting``."""
    limits = (float(settings.get(setting, _NO_LIMIT)) for settings in snapshot.broker_configs.values())
    limited = min((limit / _CLEANER_TRANSFERS for limit in limits), default=_CLEANED_BYTES_PER_SECOND)
    return max(1, int(min(limited, _CLEANED_BYTES_PER_SECOND)))


UNMOVED: Final = "the brokers have checked retention since the previous audit, and the log start has not moved"
UNMOVED_REMEDY: Final = "check the leader's log: brokers stop deleting if a log directory failed or the cleaner is dead"
_START_DELAY_SETTING, _DEFAULT_START_DELAY_MS = "log.initial.task.delay.ms", 30_000


def deletion_verdict(
    subject: Live, check: str, relevant_settings: tuple[str, ...], partition: int, explanation: str | None
) -> Verdict:
    """Return the verdict on a log start that deletion should have moved.

    ``check`` is the id of the check. ``explanation`` is the same as in ``repeated_verdict``.
    """
    interval = _deletion_interval_ms(subject)
    persisted_ms = subject.persisted_ms(check, partition, log_start_facts(subject, partition), relevant_settings)
    if interval is None or not _disk_moves_known(subject, partition):
        return Verdict.UNDECIDABLE
    return repeated_verdict(persisted_ms, interval, explanation)


def _disk_moves_known(subject: Live, partition: int) -> bool:
    """Return whether the leader reported its logs, and which of them it moves, or has a single log directory."""
    log, state = extent(subject, partition), replicas(subject, partition)
    settings = subject.snapshot.broker_configs.get(state.leader, {}) if state and state.leader is not None else {}
    return (log is not None and log.log_bytes is not None) or len(log_directories(settings)) == 1


def _deletion_interval_ms(subject: Live) -> int | None:
    """Return how long healthy brokers may take to delete expired segments, in milliseconds.

    A broker that has just started waits first (``LogManager.startup``). For ``compact,delete`` the cleaner deletes,
    and the cleaner does not wait. None if the brokers' settings are not visible.
    """
    interval = subject.check_interval_ms
    if not subject.compacted:
        delay = subject.snapshot.broker_number(_START_DELAY_SETTING, _DEFAULT_START_DELAY_MS)
        return None if interval is None or delay is None else interval + delay + CLOCK_MS
    grace = cleaner_grace_ms(subject)
    return None if grace is None or interval is None else max(grace, interval + CLOCK_MS)
