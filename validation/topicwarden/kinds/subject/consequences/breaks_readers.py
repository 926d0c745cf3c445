"""``break-readers``: retained records cannot be read with the new schema.

The records were read with the new schema as their consumers would read them (``audit/retained_records.py``). A count
is exact for the records that were read: all records that consumers still get, or a sample of the newest. Retained
records that could not be judged count as unreadable: without Java, or while a partition has no leader, a new schema is
refused. Only the older records of a topic that is too large to be read in full are left to the rules of the registry.

Kafka deletes whole segments, each when its newest record is older than ``retention.ms``. So the records expire no
earlier than ``retention.ms`` after the newest of them, and later if newer records share their segment. A topic that is
only compacted never deletes by time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final

from topicwarden.kinds.subject.evidence import SubjectContext
from topicwarden.model.message_text import counted, counted_more
from topicwarden.model.planned_change import Consequence, GroupEffect, PartitionEffect, Severity
from topicwarden.model.problem import Location
from topicwarden.model.readability import Readability
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import AllowedChange, Topic
from topicwarden.plan.change_guard import ChangeGuard
from topicwarden.plan.consequence_text import duration, shorten, size

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup

KIND = "break-readers"
GUARDS: tuple[ChangeGuard, ...] = (
    ChangeGuard(
        "retained records, or schemas that readers use, cannot be read with a new schema, or were not judged",
        (AllowedChange.BREAK_READERS,),
        "readers stop at these records; judging needs Java, the extra `audit`, and Read; no records, no refusal",
    ),
)
_MOST = 5
_NO_READERS: tuple[ConsumerGroup, ...] = ()


def evaluate(context: SubjectContext) -> Iterable[Consequence]:
    """Return one consequence for each topic with unreadable or unjudged records, and a note about a sample."""
    change, evidence = context.change, context.evidence
    location = change.declared.location_of("schema") if change.declared else None
    allowed = AllowedChange.BREAK_READERS in change.allowed
    if reason := evidence.unscanned.get(change.name):
        message = f"it was not judged whether retained records can be read with the new schema: {reason}"
        yield _unjudged(message, location, allowed=allowed)
    for found in evidence.readability.get(change.name, ()):
        if found.error is not None:
            message = f"it was not judged whether {_whose(found)} can be read with the new schema: {found.error}"
            yield _unjudged(message, location, allowed=allowed)
        elif found.unreadable:
            yield _broken(found, context, location, allowed=allowed)
        elif not found.complete:
            yield _partly_judged(found, location, allowed=allowed)


def _broken(found: Readability, context: SubjectContext, location: Location | None, *, allowed: bool) -> Consequence:
    readers = context.evidence.readers.get(found.topic)
    is_avro = context.change.schema is not None and context.change.schema.format == "avro"
    example = ", such as with a default for a new field" if is_avro else ""
    first = min(found.partitions, key=lambda each: each.partition)
    reason = next(iter(found.reasons), "")
    cause = f": {reason}" if len(found.reasons) == 1 else f"; most often: {reason}" if reason else ""
    groups = _unread(readers.groups if readers else _NO_READERS, found)
    expiry = _expiry(found, readers.topic.topic, context.today) if readers else ""
    return Consequence(
        kind=KIND,
        severity=Severity.DANGER if allowed else Severity.REFUSED,
        message=f"{found.unreadable:,} of {_scope(found)} cannot be read with the new schema; "
        f"first at partition {first.partition}, offset {first.first_offset}{cause}{f'. {expiry}' if expiry else ''}",
        because=[
            *(
                f"{counted(number, 'record')}: {each}"
                for each, number in _first(found.reasons)
                if len(found.reasons) > 1
            ),
            *_group_reasons(readers.groups if readers else _NO_READERS, found, groups),
            *_retention_reasons(readers.topic.topic if readers else None, found),
            *_incomplete(found),
            *_unaffected(found),
        ],
        measured="the records that consumers with isolation.level=read_committed get, read with the new schema"
        + ("" if found.scanned >= found.retained else "; only the newest of each partition"),
        remedy=""
        if allowed
        else f"change the schema so that it can read them{example}; or deploy it when they have expired; if every "
        f"reader can do without them, write {AllowedChange.BREAK_READERS.line}",
        evidence={
            "topic": found.topic,
            "part": found.part,
            "records": found.unreadable,
            "scanned": found.scanned,
            "retained": found.retained,
            "undecided": sum(found.undecided.values()),
            "newest": _newest(found),
        },
        partitions=[
            PartitionEffect(
                partition=each.partition,
                records=each.records,
                first_offset=each.first_offset,
                last_offset=each.last_offset,
                last_timestamp=each.newest,
            )
            for each in found.partitions
        ],
        groups=groups,
        location=location,
    )


def _unjudged(message: str, location: Location | None, because: Sequence[str] = (), *, allowed: bool) -> Consequence:
    return Consequence(
        kind=KIND,
        severity=Severity.DANGER if allowed else Severity.REFUSED,
        message=message,
        because=list(because),
        measured="the records that could be read" if because else "nothing",
        remedy="" if allowed else _PROVIDE,
        location=location,
    )


_PROVIDE: Final = (
    "a plan reads them with Java 17 or later, `topicwarden[audit]` and Read on the topic: provide what is missing, and "
    f"plan again; if every reader can do without them, write {AllowedChange.BREAK_READERS.line}"
)


def _partly_judged(found: Readability, location: Location | None, *, allowed: bool) -> Consequence:
    """Return the consequence of records that were not judged: a note if they are the older ones of a sample."""
    judged = max(0, found.scanned - sum(found.undecided.values()))
    message = f"no unreadable record among {counted(judged, 'judged record')} of {found.topic}, but not all were judged"
    incomplete = list(_incomplete(found))
    if found.undecided:
        return _unjudged(message, location, incomplete, allowed=allowed)
    return Consequence(
        kind=KIND,
        severity=Severity.NOTE,
        message=message,
        because=incomplete,
        measured="the records that could be read",
        location=location,
    )


def _whose(found: Readability) -> str:
    return f"retained {'keys' if found.part == 'key' else 'records'} of {found.topic}"


def _scope(found: Readability) -> str:
    if found.scanned >= found.retained:
        return f"{found.retained:,} {_whose(found)}"
    kind = "keys" if found.part == "key" else "records"
    return f"the newest {found.scanned:,} {kind} of {found.topic}"


def _incomplete(found: Readability) -> Iterable[str]:
    """Yield why the result does not hold for all records."""
    for reason, number in _first(found.undecided):
        yield f"not judged: {counted(number, 'record')}: {reason}" if number else f"not judged: {reason}"
    unread = found.retained - found.scanned
    if unread > 0 and not any(number >= unread for number in found.undecided.values()):
        yield f"at most {counted(unread, 'older record')} {'was' if unread == 1 else 'were'} not read"


def _unaffected(found: Readability) -> Iterable[str]:
    for reason, number in _first(found.unaffected):
        yield f"not counted, because the new schema is not the reason: {counted(number, 'record')}: {reason}"


def _first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return list(counts.items())[:_MOST]


def _newest(found: Readability) -> int | None:
    times = [each.newest for each in found.partitions]
    return None if None in times else max((time for time in times if time is not None), default=None)


def _expiry(found: Readability, topic: Topic, today: date) -> str:
    """Return when the unreadable records are gone; empty if that is not known."""
    retention, newest = topic.retention_time, _newest(found)
    if not topic.cleanup_policies:
        return ""
    if retention is None:
        return "They never expire" + (", until compaction removes them" if topic.compacted else "")
    if newest is None:
        return ""
    expiry = newest + retention
    day = _day(expiry)
    if day is None:
        return f"They do not expire before {utc(expiry)}"
    return (
        "They have expired, and are deleted with their segments"
        if day < today
        else f"They expire on {day} at the earliest"
    )


def _day(timestamp: int) -> date | None:
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).date()
    except (OverflowError, ValueError, OSError):
        return None


def _retention_reasons(topic: Topic | None, found: Readability) -> Iterable[str]:
    if topic is None or topic.retention_time is None:
        return
    newest = _newest(found)
    if newest is None:
        yield "some of them have no timestamp: they expire when their segment was last written retention.ms ago"
        return
    yield (
        f"the newest of them is of {utc(newest)}, and retention.ms is {duration(topic.retention_time)}; "
        "a segment is deleted when its newest record has expired"
    )
    limit = topic.number("retention.bytes")
    if limit is not None and limit >= 0:
        yield f"retention.bytes ({size(limit)}) may delete them earlier"


def _unread(groups: Iterable[ConsumerGroup], found: Readability) -> list[GroupEffect]:
    """Return how many of the unreadable records each group has not read yet: upper bounds."""
    effects = []
    for group in groups:
        for each in found.partitions:
            committed = group.offsets.get((found.topic, each.partition))
            if committed is not None and committed <= each.last_offset:
                left = min(each.records, each.last_offset + 1 - max(committed, each.first_offset))
                effects.append(
                    GroupEffect(group=group.name, partition=each.partition, records=left, members=group.members)
                )
    return effects


def _group_reasons(
    groups: Sequence[ConsumerGroup], found: Readability, effects: Sequence[GroupEffect]
) -> Iterable[str]:
    unread: dict[str, int] = {}
    for effect in effects:
        unread[effect.group] = unread.get(effect.group, 0) + effect.records
    for name, number in sorted(unread.items(), key=lambda item: (-item[1], item[0]))[:_MOST]:
        exact = _reads_all_later(next(group for group in groups if group.name == name), found)
        yield f"group {name} has not read {number:,} of them yet" + ("" if exact else " (at most)")
    if len(unread) > _MOST:
        yield f"and {counted_more(len(unread) - _MOST, 'group')}"
    partitions = {each.partition for each in found.partitions}
    unknown = [
        group.name
        for group in groups
        if group.hidden or not any((found.topic, partition) in group.offsets for partition in partitions)
    ]
    if unknown:
        yield f"it is not known how far these groups have read: {shorten(sorted(unknown))}"
    elif not unread:
        yield (
            "no visible consumer group has yet to read them" if groups else "no visible consumer group reads the topic"
        )


def _reads_all_later(group: ConsumerGroup, found: Readability) -> bool:
    """Return whether the group is before or after all unreadable records of each partition, so its count is exact."""
    for each in found.partitions:
        committed = group.offsets.get((found.topic, each.partition))
        if group.share or (committed is not None and each.first_offset < committed <= each.last_offset):
            return False
    return found.scanned >= found.retained
