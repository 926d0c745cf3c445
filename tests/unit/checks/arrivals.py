"""Define cases for the checks of the arrival of records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.repeated_audits import MINUTE, Log
from tests.support.subjects import NOW
from tests.unit.checks.cases import (
    COMPACT,
    FAIL,
    PASS,
    UNDECIDABLE,
    Case,
    extent,
    seen_again,
    with_counts,
    with_logs,
)
from topicwarden.audit.audited_topic import AuditedTopic, ReadRecords
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts, TimestampTypeCount
from topicwarden.model.contents import Contents
from topicwarden.model.topic import Topic

HOUR, DAY = 60 * MINUTE, 1440 * MINUTE
BY_PRODUCER, BY_BROKER = "CreateTime", "LogAppendTime"
SETTINGS = {"cleanup.policy": "delete"}


def declared(of: AuditedTopic, **arrival: Any) -> AuditedTopic:
    """Return the same topic, with this declared arrival, and ``max_late`` of the timestamps."""
    late = {"timestamps": {"max_late": arrival.pop("max_late")}} if "max_late" in arrival else {}
    contents = Contents.model_validate({"arrival": arrival, **late})
    return replace(of, declared=Topic("t", 1, 3, {}, contents=contents))


def stamped(kind: str = BY_PRODUCER, age: int = HOUR, last: int = 99, **others: Any) -> PartitionCounts:
    """Return 100 records, the last and newest of them at the offset ``last`` and ``age`` ms old."""
    newest = {"first_timestamp": NOW - age - DAY, "last_timestamp": NOW - age}
    return PartitionCounts(records=100, timestamp_types={kind: TimestampTypeCount(100, last)}, **{**newest, **others})


def silent(log: Log, **arrival: Any) -> AuditedTopic:
    return declared(log.subject(), **({"max_silence": "15m"} | arrival))


def again(log: Log, after: int = 20 * MINUTE, **changed: object) -> AuditedTopic:
    """Return the log at an audit ``after`` ms after the one that declared the silence."""
    declare = log.subject
    log.subject = lambda: declared(declare(), max_silence="15m")  # type: ignore[method-assign]
    return seen_again(log, after, **changed)


def log(counts: PartitionCounts | None = None, **fields: Any) -> Log:
    return Log({}, fields.pop("settings", SETTINGS), counts or stamped(), **fields)


def two(first: PartitionCounts, second: PartitionCounts) -> AuditedTopic:
    of = declared(log(first).subject(), max_silence="15m")
    return with_logs(with_counts(of, first, second), extent(), extent())


SILENCE = "arrival-silence"
BROKER = stamped(BY_BROKER)
FUTURE = stamped(age=-HOUR)

SILENCES = (
    Case(SILENCE, "nothing is declared", log().subject(), None),
    Case(SILENCE, "a recent record", silent(log(stamped(age=14 * MINUTE))), ()),
    Case(SILENCE, "an old record by a producer's clock", silent(log()), (UNDECIDABLE,), says="audit again after 15m"),
    Case(SILENCE, "no record at all", silent(log(PartitionCounts(), end=0)), (UNDECIDABLE,)),
    Case(SILENCE, "an old record by the brokers' clock", silent(log(BROKER)), (FAIL,), {"silent_ms": HOUR - 5_000}),
    Case(SILENCE, "a broker's clock may differ by 5 s", silent(log(BROKER), max_silence=HOUR - 5_000), (UNDECIDABLE,)),
    Case(SILENCE, "1 ms more proves it", silent(log(BROKER), max_silence=HOUR - 5_001), (FAIL,)),
    Case(SILENCE, "an open transaction holds records back", silent(log(BROKER, stable=90)), (UNDECIDABLE,)),
    Case(SILENCE, "a later record may be compacted", silent(log(stamped(BY_BROKER, last=98))), (UNDECIDABLE,)),
    Case(SILENCE, "the last record of a compacted topic", silent(log(BROKER, settings=COMPACT)), (FAIL,)),
    Case(SILENCE, "the log end did not move", again(log()), (FAIL,), {"silent_ms": 20 * MINUTE - 5_000}, (0,)),
    Case(SILENCE, "an empty log did not move", again(log(PartitionCounts(), end=0)), (FAIL,)),
    Case(SILENCE, "a future timestamp hides no silence", again(log(FUTURE)), (FAIL,)),
    Case(SILENCE, "not long enough yet", again(log(), 15 * MINUTE), (UNDECIDABLE,)),
    Case(SILENCE, "the leader changed", again(log(), epoch=8), (UNDECIDABLE,)),
    Case(SILENCE, "the leader is not settled", again(log(epoch=None)), (UNDECIDABLE,)),
    Case(
        SILENCE,
        "a new record with an old timestamp",
        again(log(), 10 * MINUTE, end=101, counts=stamped(last=100)),
        (),
    ),
    Case(
        SILENCE,
        "the audits are too far apart",
        again(log(), end=101, counts=stamped(last=100)),
        (UNDECIDABLE,),
        says="audit more often",
    ),
    Case(
        SILENCE,
        "only a marker was appended",
        again(log(), 10 * MINUTE, end=101, counts=stamped(last=98)),
        (UNDECIDABLE,),
    ),
    Case(
        SILENCE,
        "a broker's clock that is behind is contradicted by an audit",
        again(log(BROKER), 10 * MINUTE, end=101, counts=stamped(BY_BROKER, last=100)),
        (),
    ),
    Case(
        SILENCE, "one stalled partition", two(stamped(age=0), BROKER), (PASS,), {}, (1,), says="partition received no"
    ),
    Case(SILENCE, "all are stalled", two(BROKER, BROKER), (FAIL,), {"stalled_partitions": 2}),
    Case(
        SILENCE,
        "the newest records may be aborted",
        silent(log(stamped(age=0, at_most=True))),
        (UNDECIDABLE,),
    ),
)

COUNT = "arrival-count"
TODAY = NOW - NOW % DAY


def day(number: int) -> int:
    """Return the start of a day before (-1) or after today (UTC)."""
    return TODAY + number * DAY


def arrived(*numbers: int, kind: str = BY_BROKER, **others: Any) -> PartitionCounts:
    """Return the counts of the last days; the last number is of today. The first record is an hour before them."""
    days = {day(at - len(numbers) + 1): number for at, number in enumerate(numbers) if number}
    first = {"first_timestamp": day(1 - len(numbers)) - HOUR, "last_timestamp": NOW}
    types = {kind: TimestampTypeCount(sum(numbers), 99)}
    return PartitionCounts(records=sum(numbers), arrivals=days, timestamp_types=types, **{**first, **others})


def of_days(counts: PartitionCounts, *more: PartitionCounts, start: int = 0, **arrival: Any) -> AuditedTopic:
    fields = {"every": "1d", "min": 10, "max": 20} | arrival
    of = declared(log(counts).subject(), **fields)
    return with_logs(with_counts(of, counts, *more), *(extent(start) for _ in (counts, *more)))


def seen_before(counts: PartitionCounts, days: int, *, start: int = 0, **changed: Any) -> AuditedTopic:
    """Return a topic that an audit saw ``days`` ago."""
    one = log(counts, now=NOW - days * DAY, start=start, **changed)
    return declared(seen_again(one, days * DAY), every="1d", min=10, max=20, max_late="1h")


LOST = replace(of_days(arrived(15, 9, 5)), read_ranges={0: ReadRecords(0, 100, 50)})
LATE = (ContentFault("timestamp-late", "older than declared", 1, (4,)),)

COUNTS = (
    Case(COUNT, "nothing is declared", log().subject(), None),
    Case(COUNT, "enough in each period", of_days(arrived(15, 10, 20, 5)), ()),
    Case(
        COUNT, "too few yesterday", of_days(arrived(15, 10, 9, 5)), (FAIL,), {"periods": 1, "judged": 3, "records": 9}
    ),
    Case(
        COUNT, "a day without a record", of_days(arrived(15, 0, 15, 5)), (FAIL,), {"first_time": day(-2), "records": 0}
    ),
    Case(
        COUNT, "too many today", of_days(arrived(15, 21)), (FAIL,), {"first_time": TODAY, "records": 21}, says="at most"
    ),
    Case(COUNT, "the partitions together", of_days(arrived(9, 5), arrived(9, 5)), ()),
    Case(COUNT, "an empty partition", of_days(arrived(9, 5), PartitionCounts()), (FAIL,)),
    Case(COUNT, "no record", of_days(PartitionCounts()), (UNDECIDABLE,), says="first audit"),
    Case(COUNT, "one record", of_days(PartitionCounts(arrivals={TODAY: 1}), min=None), ()),
    Case(
        COUNT,
        "the day of the first record is not whole",
        of_days(arrived(1, 5, first_timestamp=day(-1))),
        (UNDECIDABLE,),
    ),
    Case(COUNT, "records may still arrive", of_days(arrived(15, 9, 5), max_late="9h"), ()),
    Case(
        COUNT,
        "by clocks of producers, on the first audit",
        of_days(arrived(15, 9, 5, kind=BY_PRODUCER)),
        (UNDECIDABLE,),
    ),
    Case(
        COUNT,
        "by clocks of producers, seen 3 days ago",
        seen_before(arrived(1, 15, 9, 5, kind=BY_PRODUCER), 3),
        (FAIL,),
        {"judged": 2},
    ),
    Case(
        COUNT,
        "deleted records are older by max_late",
        seen_before(arrived(15, 9, 5, kind=BY_PRODUCER), 3, start=7),
        (FAIL,),
    ),
    Case(
        COUNT,
        "max_late does not hold",
        seen_before(arrived(15, 9, 5, kind=BY_PRODUCER, faults=LATE), 3, start=7),
        (UNDECIDABLE,),
        says="later than max_late",
    ),
    Case(
        COUNT,
        "all records were deleted",
        of_days(arrived(15, 9, 5), PartitionCounts(), start=100),
        (UNDECIDABLE,),
        says="no record is left",
    ),
    Case(
        COUNT,
        "deleted records are older by the brokers' clock",
        of_days(arrived(15, 9, 5), start=7),
        (FAIL,),
        {"judged": 2},
    ),
    Case(COUNT, "too many among those that are left", of_days(arrived(25, 5), start=7, min=None), (FAIL,)),
    Case(COUNT, "records were deleted during the audit", LOST, (UNDECIDABLE,), says="while the audit read them"),
    Case(COUNT, "gaps may be of an earlier compaction", of_days(arrived(15, 9, 5, last_gap=3)), (UNDECIDABLE,)),
    Case(COUNT, "gaps, but an audit saw no compaction", seen_before(arrived(15, 9, 5, last_gap=3), 3), (FAIL,)),
    Case(
        COUNT,
        "future timestamps may belong to it",
        of_days(replace(arrived(15, 9, 5), arrivals={**arrived(15, 9, 5).arrivals, day(3): 1})),
        (UNDECIDABLE,),
    ),
    Case(
        COUNT, "not even with records without a timestamp", of_days(arrived(15, 7, 5, undated=1, scattered=1)), (FAIL,)
    ),
    Case(
        COUNT,
        "records without a timestamp may belong to it",
        of_days(arrived(15, 8, 5, undated=1, scattered=1)),
        (UNDECIDABLE,),
    ),
    Case(
        COUNT,
        "an absurd timestamp counts nowhere",
        of_days(replace(arrived(15, 5), arrivals={0: 99, 2**62: 99, **arrived(15, 5).arrivals})),
        (),
    ),
    Case(COUNT, "the numbers are upper bounds", of_days(arrived(15, 21, at_most=True)), (UNDECIDABLE, UNDECIDABLE)),
    Case(COUNT, "fewer, even as upper bounds", of_days(arrived(9, 5, at_most=True)), (FAIL,)),
    Case(
        COUNT,
        "compacted",
        declared(log(arrived(15, 9, 5), settings=COMPACT).subject(), every="1d", min=10),
        (UNDECIDABLE,),
        says="compaction",
    ),
    Case(
        COUNT,
        "an open transaction may add records",
        declared(log(arrived(15, 9, 5), stable=99).subject(), every="1d", min=10),
        (UNDECIDABLE,),
    ),
)

CASES = (*SILENCES, *COUNTS)
