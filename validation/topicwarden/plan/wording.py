"""How consequences speak: counts, times, and who reads what will be gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from topicwarden.kafka.consumer_groups import ConsumerGroup
from topicwarden.kafka.snapshot import LiveTopic
from topicwarden.model.planned_change import GroupEffect
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import Topic
from topicwarden.plan.placement.durability import Durability
from topicwarden.plan.plan_evidence import PlanEvidence
from topicwarden.specs.units import DURATION, SIZE

UNSEEN_GROUPS = (
    "there may be consumer groups that this user may not see (Describe on the Cluster resource, or on each group)"
)
_MOST_NAMES = 5
_ENDLESS = 2**63 - 1
"""Kafka's default for some times: the largest number there is."""


def count(number: int, noun: str) -> str:
    """``1 record``, ``2,000 records``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def survives(when: str, held: Durability) -> str:
    """``now reading survives 2 lost brokers, writing 1 lost broker, on 3 racks``."""
    racks = "" if held.racks is None else f", on {count(held.racks, 'rack')}"
    writing = (
        count(held.losses_writing, "lost broker")
        if held.losses_writing >= 0
        else f"none: {-held.losses_writing} in-sync short of min.insync.replicas"
    )
    return f"{when} reading survives {count(held.losses_reading, 'lost broker')}, writing {writing}{racks}"


def times(milliseconds: int | None) -> str:
    if milliseconds is None or milliseconds < 0 or milliseconds == _ENDLESS:
        return "for ever"
    return DURATION.format(milliseconds)


def spelled(setting: str, value: str | None) -> str:
    """Return a setting's value as people write it: a time in its unit, no value as ``nothing``."""
    if value is None:
        return "nothing"
    return times(int(value)) if setting.endswith(".ms") else value


def goes(names: Iterable[str], before: Topic, after: Topic) -> str:
    """``segment.ms goes from 7d to 1h``, for each of ``names``."""
    return ", ".join(
        f"{name} goes from {spelled(name, before.config.get(name))} to {spelled(name, after.config.get(name))}"
        for name in names
    )


def size(number: int | None) -> str:
    """``1MiB`` where that is exact, else all the bytes."""
    return "without limit" if number is None or number < 0 else f"{number:,} bytes ({SIZE.format(number)})"


def listed(names: Sequence[str]) -> str:
    """``a, b and 3 more``."""
    shown = ", ".join(names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def group_effects(
    groups: Iterable[ConsumerGroup], topic: str, going: Mapping[int, tuple[int, int]]
) -> list[GroupEffect]:
    """Who has not read the offsets that are ``going`` (by partition, first and behind the last), where they committed.

    A partition in which a group never committed says nothing of the group: it may start at the end.
    """
    return [
        GroupEffect(group=group.name, partition=partition, records=end - max(at, start), members=group.members)
        for group in groups
        for partition, (start, end) in sorted(going.items())
        if (at := group.offsets.get((topic, partition))) is not None and at < end
    ]


def readers(evidence: PlanEvidence, unread: Sequence[GroupEffect]) -> Iterable[str]:
    """Yield which consumer groups read the topic, and which of them have not read what goes."""
    groups, share_groups = evidence.groups, evidence.share_groups
    if not evidence.groups_complete:
        yield UNSEEN_GROUPS
    if share_groups:
        yield (
            f"the cluster has share groups ({listed(share_groups)}) of which no broker told which topics they read, "
            "and how far"
        )
    if not groups:
        yield "no visible consumer group reads the topic or has committed offsets for it"
        return
    names = listed([group.name for group in groups])
    if not unread:
        yield f"{count(len(groups), 'visible consumer group')} of the topic ({names}) read all of it"
    else:
        lacking: dict[str, int] = {}
        for effect in unread:
            lacking[effect.group] = lacking.get(effect.group, 0) + effect.records
        share = {group.name for group in groups if group.share}
        shown = [
            f"{name} ({f'share group, at most {records:,} of them' if name in share else count(records, 'record')})"
            for name, records in sorted(lacking.items())
        ]
        yield f"not read yet by {listed(shown)}"
    if silent := [group.name for group in groups if not group.offsets and group.members]:
        yield f"with active members and without committed offsets: {listed(silent)}"


def at_most(number: int, noun: str) -> str:
    """``at most 2,000 records``; ``no record``."""
    return f"at most {count(number, noun)}" if number else f"no {noun}"


def loss(live: LiveTopic) -> str:
    """All that a topic holds, as far as it can be seen.

    Offsets count an upper bound of the records: compaction and transactions leave gaps.
    """
    extents = live.extents.values()
    hidden = len(live.replicas) - len(extents)
    if hidden:
        seen = f"{at_most(records_of(live), 'record')} in {count(len(extents), 'partition')}"
        return f"{seen}, and what {count(hidden, 'partition')} without a leader hold, which could not be seen,"
    if not records_of(live):
        return "nothing, as the topic is empty,"
    sizes = [extent.log_bytes for extent in extents if extent.log_bytes is not None]
    written = max((extent.latest_timestamp for extent in extents if extent.latest_timestamp is not None), default=None)
    records = at_most(records_of(live), "record")
    known = [records, f"{sum(sizes):,} bytes on the leaders' disks" if sizes else ""]
    newest = f" (the newest of {utc(written)})" if written is not None else ""
    return " in ".join(part for part in known if part) + newest


def records_of(live: LiveTopic) -> int:
    """At most so many records."""
    return sum(extent.end - extent.start for extent in live.extents.values())


def bytes_of(live: LiveTopic) -> int | None:
    """Bytes of the leaders' logs; None unless every partition's is known."""
    sizes = [extent.log_bytes for extent in live.extents.values()]
    return summed(sizes)


def summed(sizes: Iterable[int | None]) -> int | None:
    """Return the sum of ``sizes``; None if one of them is not known."""
    found = list(sizes)
    known = [one for one in found if one is not None]
    return sum(known) if len(known) == len(found) else None
