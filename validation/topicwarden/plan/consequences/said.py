"""How consequences speak: counts, times, and who reads what will be gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from topicwarden.change import GroupEffect
from topicwarden.kafka.groups import Group
from topicwarden.kafka.snapshot import LiveTopic
from topicwarden.moment import utc
from topicwarden.specs.units import DURATION, SIZE

_MOST_NAMES = 5


def count(number: int, noun: str) -> str:
    """``1 record``, ``2,000 records``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def times(milliseconds: int | None) -> str:
    return "for ever" if milliseconds is None or milliseconds < 0 else DURATION.spelled(milliseconds)


def size(number: int | None) -> str:
    """``1MiB`` where that is exact, else all the bytes."""
    return "without limit" if number is None or number < 0 else f"{number:,} bytes ({SIZE.spelled(number)})"


def listed(names: Sequence[str]) -> str:
    """``a, b and 3 more``."""
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def group_effects(groups: Iterable[Group], topic: str, going: Mapping[int, tuple[int, int]]) -> list[GroupEffect]:
    """Who has not read the offsets that are ``going`` (by partition, first and behind the last), where they committed.

    A partition in which a group never committed says nothing of the group: it may start at the end.
    """
    return [
        GroupEffect(group=group.name, partition=partition, records=end - max(at, start), members=group.members)
        for group in groups
        for partition, (start, end) in sorted(going.items())
        if (at := group.offsets.get((topic, partition))) is not None and at < end
    ]


def readers_said(groups: Sequence[Group], unread: Sequence[GroupEffect], topic: str) -> Iterable[str]:
    """Who reads the topic, and who has not read what goes."""
    if not groups:
        yield "no consumer group that may be seen has committed offsets on it"
        return
    if not unread:
        yield f"{count(len(groups), 'consumer group')} of the topic ({listed([g.name for g in groups])}) read all of it"
        return
    lacking: dict[str, int] = {}
    for effect in unread:
        lacking[effect.group] = lacking.get(effect.group, 0) + effect.records
    shown = [f"{name} ({count(records, 'record')})" for name, records in sorted(lacking.items())]
    yield f"not read yet by {listed(shown)}"


def loss(live: LiveTopic) -> str:
    """All that a topic holds. Offsets count an upper bound of the records: compaction and transactions leave gaps."""
    extents = live.extents.values()
    if not records_of(live):
        return "nothing, as the topic is empty,"
    sizes = [extent.log_bytes for extent in extents if extent.log_bytes is not None]
    written = max((extent.latest_timestamp for extent in extents if extent.latest_timestamp is not None), default=None)
    records = f"up to {count(records_of(live), 'record')}"
    known = [records, f"{sum(sizes):,} bytes on the leaders' disks" if sizes else ""]
    newest = f" (the newest of {utc(written)})" if written is not None else ""
    return " in ".join(part for part in known if part) + newest


def records_of(live: LiveTopic) -> int:
    """At most so many records."""
    return sum(extent.end - extent.start for extent in live.extents.values())


def bytes_of(live: LiveTopic) -> int | None:
    """Bytes of the leaders' logs; None unless every partition's is known."""
    sizes = [extent.log_bytes for extent in live.extents.values()]
    known = [one for one in sizes if one is not None]
    return sum(known) if len(known) == len(sizes) else None
