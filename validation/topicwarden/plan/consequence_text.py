"""Texts that consequences share: counts, times, sizes, and the consumer groups that lose records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.kinds.topic.evidence import PlanEvidence
from topicwarden.model.message_text import counted, first_lines, first_of
from topicwarden.model.planned_change import Consequence, GroupEffect, Severity
from topicwarden.model.problem import Location
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import Topic
from topicwarden.model.units import DURATION, SIZE, size_text
from topicwarden.plan.placement.durability import Durability

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup

UNSEEN_GROUPS = (
    "there may be consumer groups that this user may not see (Describe on the Cluster resource, or on each group)"
)
_MOST_NAMES = 5
_MOST_UNJUDGED: Final = 5
_UNLIMITED = 2**63 - 1
"""Kafka's default for some times: the largest number of 64 bits."""


def durability_text(when: str, durability: Durability) -> str:
    """Return text such as ``now reading survives 2 lost brokers, writing 1 lost broker, on 3 racks``."""
    racks = "" if durability.racks is None else f", on {counted(durability.racks, 'rack')}"
    reading = (
        counted(durability.losses_reading, "lost broker")
        if durability.losses_reading >= 0
        else "none: no in-sync replica"
    )
    writing = (
        counted(durability.losses_writing, "lost broker")
        if durability.losses_writing >= 0
        else f"none: {-durability.losses_writing} in-sync short of min.insync.replicas"
    )
    return f"{when} reading survives {reading}, writing {writing}{racks}"


def duration(milliseconds: int | None) -> str:
    """Return a duration such as ``7d``; ``forever`` if there is no limit."""
    if milliseconds is None or milliseconds < 0 or milliseconds == _UNLIMITED:
        return "forever"
    return DURATION.format(milliseconds)


def spelled(setting: str, value: str | None) -> str:
    """Return a setting's value for a message: a time or a size with its exact unit, no value as ``nothing``."""
    if value is None:
        return "nothing"
    if setting.endswith(".ms"):
        return duration(int(value))
    return size(int(value), exact=True) if setting.endswith(".bytes") else value or '""'


def by_broker(setting: str, brokers: Mapping[str, Sequence[int]]) -> str:
    """Return text such as ``60d on 1, 2; 1h on 3`` for the ``brokers`` with each value of a setting."""
    return "; ".join(f"{spelled(setting, value)} on {', '.join(map(str, ids))}" for value, ids in brokers.items())


def changes_text(names: Iterable[str], before: Topic, after: Topic) -> str:
    """Return text such as ``segment.ms goes from 7d to 1h``, for each of ``names``."""
    return ", ".join(
        f"{name} goes from {spelled(name, before.config.get(name))} to {spelled(name, after.config.get(name))}"
        for name in names
    )


def size(number: int | None, *, exact: bool = False) -> str:
    """Return a size such as ``1MiB``, rounded unless ``exact``; ``without limit`` for None or a negative number."""
    if number is None or number < 0:
        return "without limit"
    return SIZE.format(number) if exact else SIZE.text(number)


def shorten(names: Sequence[str]) -> str:
    """Return the first names and the number of others, such as ``a, b and 3 more``."""
    return first_of(names, _MOST_NAMES)


def group_effects(
    groups: Iterable[ConsumerGroup], topic: str, removed: Mapping[int, tuple[int, int]]
) -> list[GroupEffect]:
    """Return the groups that have not read offsets that will be ``removed``, with the number of unread offsets.

    This is an upper bound of the records, because transaction markers and gaps have offsets. ``removed`` has the first
    offset and the end offset by partition. Partitions without a committed offset are left out: the group may start
    there at the end.
    """
    return [
        GroupEffect(group=group.name, partition=partition, records=end - max(committed, start), members=group.members)
        for group in groups
        for partition, (start, end) in sorted(removed.items())
        if (committed := group.offsets.get((topic, partition))) is not None and committed < end
    ]


def reader_reasons(evidence: PlanEvidence, topic: str, unread: Sequence[GroupEffect]) -> Iterable[str]:
    """Yield which consumer groups read ``topic``, and which of them have not read records that will be removed."""
    groups = evidence.groups
    if not evidence.groups_complete:
        yield UNSEEN_GROUPS
    if not groups:
        yield "no visible consumer group reads the topic or has committed offsets for it"
        return
    committed = [group.name for group in groups if topic in group.offsets_by_topic]
    if unread:
        unread_records: dict[str, int] = {}
        for effect in unread:
            unread_records[effect.group] = unread_records.get(effect.group, 0) + effect.records
        share = {group.name for group in groups if group.share}
        shown = [
            f"{name} ({'share group, ' if name in share else ''}{at_most(records, 'record')})"
            for name, records in sorted(unread_records.items())
        ]
        yield f"not read yet by {shorten(shown)}"
    elif committed:
        groups_text = f"{counted(len(committed), 'visible consumer group')} ({shorten(committed)})"
        yield f"no committed offset of {groups_text} is before the end of these records"
    if uncommitted := [group.name for group in groups if topic not in group.offsets_by_topic]:
        yield f"reading the topic without committed offsets: {shorten(uncommitted)}"


def at_most(number: int, noun: str) -> str:
    """Return an upper bound, such as ``at most 2,000 records``; ``no record`` for 0."""
    return f"at most {counted(number, noun)}" if number else f"no {noun}"


def at_most_of(number: int, total: int, noun: str) -> str:
    """Return an upper bound of a part: ``at most 2 records of 30``, ``none of 30 records`` or ``no visible record``."""
    if number:
        return f"at most {counted(number, noun)} of {total:,}"
    return f"none of {counted(total, noun)}" if total else f"no visible {noun}"


def contents_text(live: LiveTopic) -> str:
    """Return the records and bytes of a topic as text, as far as they can be seen.

    Offsets give an upper bound of the records: compaction and transactions leave gaps.
    """
    extents = live.extents.values()
    hidden = len(live.replicas) - len(extents)
    if hidden:
        seen_records = f"{at_most(records_of(live), 'record')} in {counted(len(extents), 'partition')}"
        unseen = f"those of {counted(hidden, 'partition')} without a leader, which could not be seen,"
        return f"{seen_records}, and {unseen}"
    if not records_of(live):
        return "no record"
    sizes = [extent.log_bytes for extent in extents if extent.log_bytes is not None]
    written = max((extent.latest_timestamp for extent in extents if extent.latest_timestamp is not None), default=None)
    records = at_most(records_of(live), "record")
    parts = [records, f"{size_text(sum(sizes))} on the leaders' disks" if sizes else ""]
    newest = f" (the newest of {utc(written)})" if written is not None else ""
    return " in ".join(part for part in parts if part) + newest


def records_of(live: LiveTopic) -> int:
    """Return an upper bound of the number of records of ``live``, from its offsets."""
    return sum(extent.end - extent.start for extent in live.extents.values())


def bytes_of(live: LiveTopic) -> int | None:
    """Return the bytes of the leaders' logs; None if the size of a partition is unknown."""
    sizes = [extent.log_bytes for extent in live.extents.values()]
    return sum_or_none(sizes)


def sum_or_none(sizes: Iterable[int | None]) -> int | None:
    """Return the sum of ``sizes``; None if one of them is None."""
    values = list(sizes)
    known = [size for size in values if size is not None]
    return sum(known) if len(known) == len(values) else None


def unjudged(
    kind: str, plural: str, changes: Sequence[tuple[str, Location | None]], reason: str, remedy: str
) -> Consequence:
    """Return the refusal of ``changes``, each in words with its location, of entries of one kind, such as ``ACLs``."""
    return Consequence(
        kind=kind,
        severity=Severity.REFUSED,
        message=f"{counted(len(changes), 'change')} of {plural} cannot be judged: {reason}",
        because=first_lines([text for text, _ in changes], _MOST_UNJUDGED),
        measured=f"the {plural} of Pulumi's state and of the YAML only",
        remedy=remedy,
        location=next((location for _, location in changes if location), None),
    )
