"""Define cases for the checks of the log cleaner's work."""

from __future__ import annotations

from dataclasses import replace

from tests.support.repeated_audits import COMPACT as COMPACTED
from tests.support.repeated_audits import DEAD, DIRTY, Log, one_key, seen_empty
from tests.support.subjects import HORIZON, counted, subject
from tests.unit.checks.cases import (
    COMPACT,
    DELETE,
    FAIL,
    PASS,
    SUSPECT,
    UNDECIDABLE,
    Case,
    absent,
    beside_others,
    extent,
    seen_again,
    with_broker,
    with_counts,
    with_logs,
    without,
)
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.history.topic_state import PreviousAudit, RememberedRecord
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.model.units import duration_text

GRACE_MS = 2 * 15_000 + 5_000 + 19
"""Twice the cleaner's back-off, plus the clock tolerance, plus 100,000 bytes at 5 MiB per second."""


def half_dirty(more: int = 0) -> Log:
    """Return a log whose dirty ratio is at least one half, or ``more`` bytes above this bound."""
    log = one_key()
    log.size = 20_000
    log.counts = replace(DIRTY, payload_bytes=15_000, cleanable_bytes=15_000, clean_bytes_at_most=9_900 - more)
    return log


def cleanable(border: int) -> Log:
    log = one_key()
    log.horizon = replace(log.horizon, cleanable=border, blocked_by="an open transaction")
    return log


def lagging(border: int) -> Log:
    log = one_key()
    log.horizon = replace(log.horizon, lagging=border)
    return log


def apart(pairs: int) -> Log:
    """Return a log with pairs of records of the same key, at the offsets 0 and 1, 3 and 4, and so on."""
    return replace(one_key(), records={3 * number + record: number for number in range(pairs) for record in (0, 1)})


def hidden(**settings: str) -> AuditedTopic:
    """Return the second audit of a log that starts at offset 40, because DeleteRecords hid the earlier records."""
    log = Log(dict.fromkeys(range(40, 100), 5), {**DEAD, **{name.replace("_", "."): v for name, v in settings.items()}})
    return seen_again(replace(seen_empty(log), start=40))


def not_paired(pair: SupersededPair) -> AuditedTopic:
    """Return a log for which only the first and the last record of one key are known."""
    return replace(one_key(), records={0: 5}, counts=replace(DIRTY, earliest_pair=pair)).subject()


def without_size(log: Log) -> AuditedTopic:
    log.size = None
    return log.subject()


def one_size_untold() -> AuditedTopic:
    """Return a compacted topic with two partitions; only the size of the second partition is known."""
    counts = replace(DIRTY, superseded_cleanable=1)
    of = with_counts(subject(live=COMPACT, horizon=replace(HORIZON, cleanable=100)), counts, PartitionCounts(records=1))
    return with_logs(of, extent(log_bytes=None), extent(log_bytes=1_000))


def nothing_cleanable(of: AuditedTopic) -> AuditedTopic:
    return replace(of, counts={0: replace(counted(of).counts[0], superseded_cleanable=0)})


def unknown_shape() -> Log:
    """Return the log of ``one_key``, but no audit saw the log before it was written."""
    return Log(dict.fromkeys(range(100), 5), DEAD)


PAIRS = {offset: offset // 2 for offset in range(100)}


def cleaned(first: int = 2, *, policy: dict[str, str] = COMPACTED, **changed: object) -> AuditedTopic:
    """Return a log of fifty pairs. Offsets ``first`` to 49 were removed after the last audit."""
    log = Log(dict(PAIRS), policy, counts=PartitionCounts(records=100))
    left = {offset: key for offset, key in PAIRS.items() if not first <= offset < 50}
    return seen_again(log, 1, records=left, **changed)


def remembered_pairs(*offsets: tuple[int, int | None], standing: int) -> AuditedTopic:
    """Return a topic with records that the last audit remembered; the first ``standing`` of them are still present.

    ``offsets`` are pairs: the offset of each record, and the offset of a later record with the same key.
    """
    remembered = tuple(RememberedRecord(0, offset, 5, later) for offset, later in offsets)
    before = Log({}, COMPACTED)
    before.look()
    assert before.last
    past = PreviousAudit(
        replace(before.last, remembered_records=remembered), still_present=frozenset(remembered[:standing])
    )
    return replace(before.subject(), past=past)


def gone_elsewhere() -> AuditedTopic:
    """Return a topic where a pair in partition 0 is still present, and a record in partition 1 is gone."""
    of = remembered_pairs((0, 1), standing=1)
    assert of.past.state
    remembered = (*of.past.state.remembered_records, RememberedRecord(1, 6, 5, 7))
    return replace(of, past=replace(of.past, state=replace(of.past.state, remembered_records=remembered)))


def standing_elsewhere() -> AuditedTopic:
    """Return a topic whose first pair in partition 0 is at offset 50.

    A pair in partition 1 and a tombstone, both at lower offsets, are still present.
    """
    of = replace(one_key(), records={50: 5, 51: 5}).subject()
    return replace(
        of,
        past=replace(of.past, still_present=frozenset({RememberedRecord(1, 0, 5, 1), RememberedRecord(0, 3, 9, None)})),
    )


CASES = (
    Case("compaction-ratio", "dirty by a byte", half_dirty(1).subject(), (SUSPECT,), partitions=(0,)),
    Case(
        "compaction-ratio",
        "just as dirty as it may be",
        half_dirty().subject(),
        (PASS,),
        evidence={"dirty_ratio_at_least": 0.5, "min.cleanable.dirty.ratio": 0.5},
    ),
    Case(
        "compaction-ratio",
        "longer than a cleaner takes",
        seen_again(one_key(), GRACE_MS + 1),
        (FAIL,),
        says=f"has not cleaned them for {duration_text(GRACE_MS + 1)}",
        evidence={"superseded": 99, "not_rolled": 0, "held_back": 0, "cleanable": 99},
    ),
    Case("compaction-ratio", "as long as a cleaner takes", seen_again(one_key(), GRACE_MS), (SUSPECT,)),
    Case(
        "compaction-ratio",
        "longer than a cleaner takes, and not than a cleaner that waits longer",
        seen_again(with_broker(one_key(), log_cleaner_backoff_ms="60000"), GRACE_MS + 1),
        (SUSPECT,),
        says="it looks every 1m for the log",
    ),
    Case("compaction-ratio", "a cleaner with Kafka's default", one_key().subject(), (SUSPECT,), says="every 15s"),
    Case(
        "compaction-ratio",
        "a dirty ratio that is not known",
        without(one_key().subject(), "min.cleanable.dirty.ratio"),
        (SUSPECT,),
        says="with the highest dirty ratio above 0.5 (",
    ),
    Case(
        "compaction-ratio",
        "eight pairs apart from each other",
        apart(8).subject(),
        (SUSPECT,),
        says="99 (offsets 0, 3, 6, 9, 12, 15, 18, 21): their",
    ),
    Case(
        "compaction-ratio",
        "nine pairs apart from each other",
        apart(9).subject(),
        (SUSPECT,),
        says="99 (offsets 0, 3, 6, 9, 12, 15, 18, 21, …): their",
    ),
    Case(
        "compaction-ratio",
        "a cleaner that is turned off",
        with_broker(one_key(), log_cleaner_enable="false").subject(),
        (SUSPECT,),
        says="log.cleaner.enable is false on the brokers: the cleaner does not run",
    ),
    Case(
        "compaction-ratio",
        "a cleaner that may be turned on",
        with_broker(one_key(), log_cleaner_enable="true").subject(),
        (SUSPECT,),
        evidence={"keys": 1},
    ),
    Case("compaction-ratio", "under another leader", seen_again(one_key(), epoch=8), (SUSPECT,)),
    Case("compaction-ratio", "the first pair is cleanable", cleanable(2).subject(), (SUSPECT,)),
    Case("compaction-ratio", "the first pair is held back", cleanable(1).subject(), (PASS,)),
    Case(
        "compaction-ratio", "longer, and the first pair is held back", seen_again(cleanable(1), GRACE_MS + 1), (PASS,)
    ),
    Case(
        "compaction-ratio",
        "nothing was appended since the first audit",
        seen_again(unknown_shape()),
        (PASS,),
        says="the segment may be active",
    ),
    Case(
        "compaction-ratio",
        "one record was appended since the first audit",
        seen_again(unknown_shape(), end=101),
        (FAIL,),
    ),
    Case("compaction-ratio", "sizes are not told", without_size(one_key()), (UNDECIDABLE,)),
    Case(
        "compaction-ratio",
        "sizes are not told, and nothing is cleanable",
        nothing_cleanable(without_size(one_key())),
        (PASS,),
    ),
    Case("compaction-ratio", "the size of this log is not told", one_size_untold(), (UNDECIDABLE,), partitions=(0,)),
    Case("compaction-ratio", "no key has two records", subject(PartitionCounts(records=3, keys=3), live=COMPACT), ()),
    Case("compaction-ratio", "hidden records may be young", hidden(), (PASS,), says="DeleteRecords hid may be young"),
    Case("compaction-ratio", "hidden records cannot be young", hidden(message_timestamp_after_max_ms="0"), (FAIL,)),
    Case(
        "compaction-ratio",
        "the first and the last record of a key",
        not_paired(SupersededPair(3, 4, 5)),
        (SUSPECT,),
        says="99: their segments have rolled",
    ),
    Case("compaction-ratio", "the last record of a key is the newest", not_paired(SupersededPair(3, 100, 5)), (PASS,)),
    Case("compaction-ratio", "not compacted", replace(one_key(), settings=DELETE).subject(), None),
    Case(
        "compaction-lag",
        "older than the setting",
        lagging(2).subject(),
        (SUSPECT,),
        partitions=(0,),
        evidence={"offset": 0, "superseded_by": 1, "max.compaction.lag.ms": 1_000},
    ),
    Case(
        "compaction-lag",
        "older than the setting, beside partitions that are not",
        beside_others(lagging(2).subject()),
        (SUSPECT,),
        partitions=(0,),
    ),
    Case("compaction-lag", "as old as the setting", lagging(1).subject(), ()),
    Case(
        "compaction-lag",
        "longer than a cleaner takes",
        seen_again(one_key(), GRACE_MS + 1),
        (FAIL,),
        evidence={"persisted_ms": GRACE_MS + 1},
        says=f"every audit for {duration_text(GRACE_MS + 1)} has found both",
    ),
    Case("compaction-lag", "as long as a cleaner takes", seen_again(one_key(), GRACE_MS), (SUSPECT,)),
    Case(
        "compaction-lag",
        "nothing was appended since the first audit",
        seen_again(unknown_shape()),
        (PASS,),
        says="the segment may be active",
    ),
    Case("compaction-lag", "sizes are not told", without_size(one_key()), (UNDECIDABLE,)),
    Case("compaction-lag", "no key has two records", replace(one_key(), records={0: 5}).subject(), ()),
    Case(
        "compaction-lag",
        "without a bound",
        replace(one_key(), settings={**DEAD, "max.compaction.lag.ms": str(2**63 - 1)}).subject(),
        None,
    ),
    Case("compaction-lag", "hidden records may be young", hidden(), (PASS,), says="DeleteRecords hid may be young"),
    Case("compaction-lag", "hidden records cannot be young", hidden(message_timestamp_after_max_ms="0"), (FAIL,)),
    Case("compaction-lag", "the first and the last record of a key", not_paired(SupersededPair(3, 4, 5)), (SUSPECT,)),
    Case("compaction-lag", "the last record of a key is the newest", not_paired(SupersededPair(3, 100, 5)), ()),
    Case("compaction-lag", "another partition's pair", standing_elsewhere(), (SUSPECT,), evidence={"offset": 50}),
    Case("compaction-lag", "not compacted", replace(one_key(), settings={**DEAD, **DELETE}).subject(), None),
    Case("compaction-lag", "not on the cluster", absent(one_key().subject()), None),
    Case(
        "compaction-gap",
        "a cleaning left the first pair",
        cleaned(),
        (FAIL,),
        partitions=(0,),
        evidence={"offset": 0, "superseded_by": 1, "cleaned_away": 2},
    ),
    Case("compaction-gap", "beside partitions of other leaders", beside_others(cleaned()), (FAIL,), partitions=(0,)),
    Case("compaction-gap", "a cleaning took the first pair", cleaned(0), ()),
    Case("compaction-gap", "a cleaning took one of the first pair", cleaned(1), ()),
    Case("compaction-gap", "no cleaning", cleaned(50), ()),
    Case(
        "compaction-gap", "deleted up to a record that is gone", cleaned(start=8), (FAIL,), evidence={"cleaned_away": 8}
    ),
    Case("compaction-gap", "deleted up to the record behind it", cleaned(start=9), ()),
    Case("compaction-gap", "another leader", cleaned(epoch=8), ()),
    Case("compaction-gap", "truncated", cleaned(end=99), ()),
    Case("compaction-gap", "deleted up to the last record that is gone", cleaned(start=50), ()),
    Case("compaction-gap", "a cleaning behind the pair", remembered_pairs((0, 1), (2, 3), standing=1), (FAIL,)),
    Case("compaction-gap", "a cleaning of the pair's own key", remembered_pairs((0, 1), (1, 2), standing=1), ()),
    Case("compaction-gap", "a cleaning left a tombstone", remembered_pairs((0, None), (2, 3), standing=1), ()),
    Case(
        "compaction-gap",
        "a cleaning left a tombstone, and a pair that no audit saw before",
        replace(remembered_pairs((0, None), (6, 7), standing=1), pairs={0: (SupersededPair(4, 5, 5),)}),
        (),
    ),
    Case("compaction-gap", "a cleaning of another partition", gone_elsewhere(), ()),
    Case("compaction-gap", "never seen before", subject(live=COMPACT), None),
    Case("compaction-gap", "not compacted", cleaned(settings=DELETE), None),
)
