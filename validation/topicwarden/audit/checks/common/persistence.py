"""What stood at the last look and stands now, or does not: the questions that checks of two looks have in common."""

from __future__ import annotations

from topicwarden.audit.collect.horizon import CLOCK_MS, roll_time
from topicwarden.audit.history.topic_state import RememberedRecord
from topicwarden.audit.scan.counts import SupersededPair
from topicwarden.audit.subject import AuditedTopic
from topicwarden.kafka.snapshot import PartitionExtent, PartitionReplicas
from topicwarden.model.verdict import Verdict

_DEFAULT_BACKOFF_MS = 15_000
_AHEAD = "message.timestamp.after.max.ms"
_CLEANED_BYTES_A_SECOND = 5 << 20
"""What one cleaner thread manages at the least; it may be busy with every other log before it comes to this one."""

OUT_OF_SYNC = "a replica is out of sync: brokers delete only what all in-sync replicas hold"


def replicas(subject: AuditedTopic, partition: int) -> PartitionReplicas | None:
    states = subject.live.replicas if subject.live else ()
    return next((state for state in states if state.partition == partition), None)


def extent(subject: AuditedTopic, partition: int) -> PartitionExtent | None:
    return subject.live.extents.get(partition) if subject.live else None


def all_in_sync(subject: AuditedTopic, partition: int) -> bool:
    state = replicas(subject, partition)
    return state is not None and len(state.in_sync) == len(state.replicas)


def same_leader(subject: AuditedTopic, partition: int) -> bool:
    """Whether one broker led the partition all the time since the last look; False where nobody can tell."""
    before, now = subject.past.partition(partition), replicas(subject, partition)
    return (
        before is not None
        and now is not None
        and before.leader == now.leader
        and before.leader_epoch is not None
        and before.leader_epoch == now.leader_epoch
    )


def led(subject: AuditedTopic, partition: int) -> dict[str, int]:
    """The leader's epoch, as a fact: what stood under another leader says nothing of this one.

    A broker that restarts leads in a new epoch, and neither cleans, deletes nor ends transactions while it is away.
    """
    state = replicas(subject, partition)
    return {} if state is None or state.leader_epoch is None else {"leader_epoch": state.leader_epoch}


def starts(subject: AuditedTopic, partition: int) -> dict[str, int]:
    """Where the log starts, as a fact beside ``led``: who says how old records are has to know since when it does."""
    log = extent(subject, partition)
    return led(subject, partition) | ({} if log is None else {"start": log.start})


def hidden_until(subject: AuditedTopic, partition: int, stood: int) -> int | None:
    """The latest timestamp that a record may bear which lies below the log's start, in its first segment.

    DeleteRecords moves the start into a segment, of which the rest stays: for the brokers it is as young as its
    youngest record, seen or not. ``stood`` tells since when the log starts there (ms): what lies below was written by
    then, and stamped no more than ``message.timestamp.after.max.ms`` ahead. No record is younger than the log's latest,
    which brokers tell whether it can be read or not. 0 where nothing lies below, None where nothing bounds it.
    """
    log = extent(subject, partition)
    if log is not None and log.start == 0:
        return 0
    ahead = subject.number(_AHEAD)
    written = None if ahead is None else subject.snapshot.taken_at - stood + ahead + CLOCK_MS
    latest = log.latest_timestamp if log is not None else None
    return min((bound for bound in (written, latest) if bound is not None), default=None)


def judged_twice(stood: int | None, grace: int, lawful: str | None) -> Verdict:
    """Return what several looks at the same facts prove.

    Args:
        stood: for how long (ms) every look has seen the facts; None if the last look did not.
        grace: how long (ms) the broker may lawfully leave them so.
        lawful: an explanation that this look cannot exclude; None if there is none.

    Returns:
        ``fail`` if the facts stood for longer than the grace and nothing explains them. ``suspect`` if the next audit
        can settle it. ``pass`` if the lawful explanation holds: a suspect that each audit repeats helps nobody.
    """
    if lawful is not None:
        return Verdict.PASS
    return Verdict.FAIL if stood is not None and stood > grace else Verdict.SUSPECT


def unsettled_segment(subject: AuditedTopic, partition: int, stood: int | None) -> str | None:
    """Return why the segment of a pair may not have rolled, as far as audits saw; None if nothing speaks for it.

    Nothing is known of the time before the first audit, so that its look is no explanation: the next one tells.
    """
    if subject.past.state is None:
        return None
    if subject.past.shaped_from(partition) is not None and not rolled_since(subject, partition):
        return (
            "nothing was appended since audits know the settings of its segments: the segment may be active, "
            "and the cleaner leaves the active segment alone"
        )
    if stood is not None and not rolled_for_all(subject, partition, stood):
        return (
            "the log does not start at offset 0: records that DeleteRecords hid may be young enough to keep its first "
            "segment from rolling, or within min.compaction.lag.ms"
        )
    return None


def rolled_for_all(subject: AuditedTopic, partition: int, stood: int) -> bool:
    """Whether what was written is young enough to have rolled the log's first segment, whatever lies below its start.

    And whether ``min.compaction.lag.ms`` has passed for all that may.
    """
    hidden, log = hidden_until(subject, partition, stood), extent(subject, partition)
    if hidden is None or log is None or subject.live is None:
        return False
    longest, held = roll_time(subject.live.topic) or 0, subject.number("min.compaction.lag.ms") or 0
    young = log.latest_timestamp or 0
    return hidden == 0 or (young > hidden + longest and (held == 0 or subject.snapshot.taken_at - held > hidden))


def rolled_since(subject: AuditedTopic, partition: int) -> bool:
    """Whether the roll certificate rests on a record that was written under today's settings, as audits saw them.

    Without that, a segment may be as long as the ``segment.ms`` of long ago allowed, and still be active.
    """
    known_from, log = subject.past.shaped_from(partition), extent(subject, partition)
    return (
        known_from is not None and log is not None and log.latest_offset is not None and log.latest_offset >= known_from
    )


def first_pair(subject: AuditedTopic, partition: int) -> SupersededPair | None:
    """The pair of records of one key that is to stand: the one remembered, for as long as it does, else the first."""
    remembered = [
        SupersededPair(one.offset, one.superseded_by, one.key)
        for one in subject.past.still_present
        if one.partition == partition and one.superseded_by is not None
    ]
    counts = subject.counts.get(partition)
    far = (counts.earliest_pair,) if counts and counts.earliest_pair and subject.compacted else ()
    return min(remembered or subject.pairs.get(partition) or far, key=lambda pair: pair.superseded_by, default=None)


def cleaned_away(subject: AuditedTopic, partition: int) -> tuple[RememberedRecord, ...]:
    """Remembered records that are gone, though the log was neither truncated nor deleted up to them.

    Only the cleaner takes away single records, so it has come by since the last look, and cleaned at least up to these.
    """
    look, before, log = subject.past.state, subject.past.partition(partition), extent(subject, partition)
    if look is None or before is None or log is None or log.end < before.end:
        return ()
    return tuple(
        one
        for one in look.remembered_records
        if one.partition == partition and one.offset >= log.start and one not in subject.past.still_present
    )


def cleaner_grace_ms(subject: AuditedTopic) -> int | None:
    """How long a cleaner that is well may leave a log alone; None if a broker's settings or logs' sizes are not known.

    Twice its ``log.cleaner.backoff.ms``, and what one thread needs to clean every compacted log there is.
    """
    sizes = [
        log.log_bytes
        for live in subject.snapshot.topics.values()
        if live.topic.compacted
        for log in live.extents.values()
    ]
    known = [size for size in sizes if size is not None]
    backoff = subject.snapshot.broker_number("log.cleaner.backoff.ms", _DEFAULT_BACKOFF_MS)
    if not known or backoff is None:
        return None
    return 2 * backoff + CLOCK_MS + sum(known) * 1_000 // _CLEANED_BYTES_A_SECOND
