"""In each period, as many records arrive as declared.

Judges topics with ``contents: {arrival: {every: …, min: …, max: …}}``. A record belongs to the period of its timestamp.
Days begin in the declared time zone; a day with a change to or from daylight-saving time has 23 or 25 hours.

**fail**: a period has more committed records than ``max``. This holds for the running period, too, and where records
were deleted. Or a whole period has fewer than ``min``, and its records are all still there and have all arrived. That
is proven for a period if

- it ended ``contents.timestamps.max_late`` ago, or 5 minutes ago if that is shorter or not declared;
- no record of it was deleted: the log starts at offset 0, or the period begins after the oldest retained timestamp by
  more than ``max_late``, which bounds how much younger an earlier record may be. Without ``max_late``, timestamps of
  the type ``CreateTime`` prove nothing here. ``LogAppendTime`` needs no ``max_late``;
- no record of it was compacted: the topic is not compacted, and it was not when an earlier audit saw it, before the
  period; without that audit, the log has no offset without a record;
- it begins after an audit saw the topic, or after a record with the timestamp type ``LogAppendTime``: before, the topic
  may not have been in use.

These records may belong to any period: those without a timestamp, with one ahead of this audit or before the year
2000, those whose timestamps are too scattered to count, and those after the last stable offset. A period that reaches
``min`` with them is **undecidable**. So is ``min`` if no period can be judged, and if the number of records may include
records of aborted transactions, which do not count. Other periods are not judged.

Example: ``1 of 13 days has fewer records than declared: 2026-11-20 (812)``, declared at least 1,000; an upstream job
failed.

Confirm: consume the topic with ``isolation.level=read_committed`` and ``print.timestamp=true``, and count.

Remedy: look at the producers in this period; or declare the numbers that are normal.

Prevent: audit daily with ``--since last``; declare ``contents.timestamps.max_late``.

Source: ``zoneinfo`` (IANA time zone database); KIP-32 for timestamps.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks.common.content_faults import AT_MOST
from topicwarden.audit.checks.common.persistence import uncompacted_since
from topicwarden.audit.collect.horizon import CLOCK_MS
from topicwarden.audit.evidence import EveryPartition, EveryRecord, ExactCommitted, Live
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.model.arrival import DAY_MS, FIRST_TIME, ArrivalContents, Calendar
from topicwarden.model.message_text import counted, share
from topicwarden.model.timestamps import utc
from topicwarden.model.verdict import Verdict

LATE_MS: Final = 300_000
"""How long a record may take to arrive if ``max_late`` is shorter: twice the producer's ``delivery.timeout.ms``."""

_LISTED: Final = 5
_MOST_PERIODS: Final = 100_000


class Required(ExactCommitted, EveryPartition, EveryRecord): ...


def applies(subject: Live) -> bool:
    return subject.contents.arrival.counts


def judge(subject: Required) -> Iterable[CheckResult]:
    arrival, now = subject.contents.arrival, subject.snapshot.taken_at
    calendar = arrival.calendar
    totals, unplaced = _totals(subject, calendar, now)
    at_most = tuple(sorted(at for at, counts in subject.committed.items() if counts.at_most))
    if arrival.max is not None:
        above = {start: number for start, number in sorted(totals.items()) if number > arrival.max}
        if above:
            verdict = Verdict.UNDECIDABLE if at_most else Verdict.FAIL
            yield _result(verdict, "max", above, len(totals), arrival, *([AT_MOST] if at_most else []))
    if not arrival.min:
        return
    begins, reasons = _judged_from(subject)
    periods = () if begins is None else tuple(_whole_periods(calendar, begins, now - _late_ms(subject)))
    if not periods:
        reasons = reasons or [f"no whole period has passed since {utc(begins or now)}"]
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "no period is known to have all its records",
            path=("contents", "arrival", "min"),
            because=tuple(reasons),
            remedy="declare contents.timestamps.max_late, and audit again after the next period",
        )
        return
    below = {start: number for start in periods if (number := totals[start]) < arrival.min}
    proven = {start: number for start, number in below.items() if number + unplaced < arrival.min}
    if proven:
        yield _result(Verdict.FAIL, "min", proven, len(periods), arrival)
    elif below:
        why = f"up to {counted(unplaced, 'record')} may belong to them: not dated, or not committed yet"
        yield _result(Verdict.UNDECIDABLE, "min", below, len(periods), arrival, why)
    elif at_most:
        yield CheckResult(
            Verdict.UNDECIDABLE,
            "the numbers of records in the periods are not exact",
            path=("contents", "arrival", "min"),
            partitions=at_most,
            because=(AT_MOST,),
            remedy="audit fewer topics at once (--topics), so that more records of each topic can be read again",
        )


def _totals(subject: Required, calendar: Calendar, now: int) -> tuple[Counter[int], int]:
    """Return the committed records of each period that has begun, and how many may belong to any period."""
    # Records of open transactions, and those after them, are not visible yet.
    intervals = Counter[int]()
    unplaced = sum(max(0, log.end - log.last_stable) for log in subject.live.extents.values())
    for counts in subject.committed.values():
        intervals.update(counts.arrivals)
        unplaced += counts.scattered + counts.undated
    totals = Counter[int]()
    for start, number in intervals.items():
        if FIRST_TIME <= start <= now:
            totals[calendar.start(start)] += number
        else:
            unplaced += number
    return totals, unplaced


def _whole_periods(calendar: Calendar, begins: int, ends: int) -> Iterator[int]:
    """Yield the starts of the periods within these times (ms), at most the newest ``_MOST_PERIODS``."""
    begins = max(begins, FIRST_TIME, ends - _MOST_PERIODS * calendar.every)
    start = calendar.start(begins)
    start = start if start >= begins else calendar.end(start)
    while (end := calendar.end(start)) <= ends:
        yield start
        start = end


def _late_ms(subject: Required) -> int:
    return max(subject.contents.timestamps.max_late or 0, LATE_MS)


def _judged_from(subject: Required) -> tuple[int | None, list[str]]:
    """Return the time (ms) from which periods have all their records; None with the reasons if there is none."""
    in_use = _in_use_since(subject)
    if subject.live.topic.cleanup_policies is None or subject.compacted:
        return None, ["compaction removes records, and the cleanup policy may be compact"]
    if in_use is None:
        return None, ["this is the first audit of the topic, and timestamps of producers do not prove when it was new"]
    times, reasons = [in_use], []
    for partition in subject.live.extents:
        since, reason = _complete_since(subject, partition)
        if since is None:
            reasons.append(f"partition {partition}: {reason}")
        else:
            times.append(since)
    return (None, reasons[:_LISTED]) if reasons else (max(times), [])


def _in_use_since(subject: Required) -> int | None:
    """Return a time (ms) at which the topic was in use: an audit saw it, or a broker stamped a record."""
    past = subject.past.state
    seen = [time + CLOCK_MS for time in past.since.values()] if past else []
    stamped = [
        counts.first_timestamp + CLOCK_MS
        for counts in subject.committed.values()
        if counts.first_timestamp is not None and _stamped_by_brokers(counts)
    ]
    return min([*seen, *stamped], default=None)


def _complete_since(subject: Required, partition: int) -> tuple[int | None, str]:
    """Return the time (ms) from which no record of a partition is missing, or None with the reason."""
    log, counts = subject.live.extents[partition], subject.counts.get(partition)
    read = subject.read_ranges.get(partition)
    if counts is not None and read is not None and read.lost_offsets(counts.records):
        return None, "records were deleted while the audit read them"
    kept, kept_since = counts is None or counts.last_gap is None, uncompacted_since(subject)
    if not kept and kept_since is None:
        return None, "offsets without a record may be of transactions, or of records that were compacted earlier"
    uncompacted = 0 if kept or kept_since is None else kept_since + CLOCK_MS
    if log.start == 0:
        return uncompacted, ""
    undeleted, reason = _undeleted_since(subject, counts)
    deleted = f"records before offset {log.start:,} were deleted, and may be of any period: {reason}"
    return (None, deleted) if undeleted is None else (max(uncompacted, undeleted), "")


def _undeleted_since(subject: Required, counts: PartitionCounts | None) -> tuple[int | None, str]:
    """Return a time (ms) after the timestamps of all records before the log start, or None with the reason."""
    if counts is None or counts.first_timestamp is None:
        return None, "no record is left"
    if _stamped_by_brokers(counts):
        return counts.first_timestamp + CLOCK_MS, ""
    max_late = subject.contents.timestamps.max_late
    if max_late is None:
        return None, "max_late is not declared"
    if any(fault.rule == "timestamp-late" for fault in counts.faults):
        return None, "other records are later than max_late"
    return counts.first_timestamp + max_late + CLOCK_MS, ""


def _stamped_by_brokers(counts: PartitionCounts) -> bool:
    return set(counts.timestamp_types) == {"LogAppendTime"}


def _result(
    verdict: Verdict, bound: str, found: Mapping[int, int], judged: int, arrival: ArrivalContents, *because: str
) -> CheckResult:
    """Return the result for the periods that break ``bound``: their records by start."""
    calendar, is_least = arrival.calendar, bound == "min"
    declared = (arrival.min if is_least else arrival.max) or 0
    noun = "day" if calendar.every == DAY_MS else "period"
    listed = ", ".join(f"{calendar.text(start)} ({number:,})" for start, number in list(found.items())[-_LISTED:])
    more = "…, " if len(found) > _LISTED else ""
    what = f"{'fewer' if is_least else 'more'} records than declared: {more}{listed}"
    return CheckResult(
        verdict,
        f"{share(len(found), judged, noun, 'have')} {what}",
        path=("contents", "arrival", bound),
        because=(f"declared at {'least' if is_least else 'most'} {declared:,}, in {calendar.timezone}", *because),
        remedy="look at the producers in these periods, or declare the numbers that are normal",
        evidence={
            "periods": len(found),
            "judged": judged,
            "first_time": next(iter(found)),
            "records": min(found.values()) if is_least else max(found.values()),
            "declared": declared,
        },
    )
