"""Who reads which topics, and how far: consumer groups and their committed offsets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from kafka import KafkaAdminClient

from topicwarden.kafka.patience import patiently


@dataclass(frozen=True)
class Group:
    """A consumer group: its state, its members at the moment, and the next offset to read by topic and partition."""

    name: str
    state: str
    members: int
    offsets: Mapping[tuple[str, int], int] = field(default_factory=dict)

    @property
    def topics(self) -> frozenset[str]:
        return frozenset(topic for topic, _ in self.offsets)


def read_groups(admin: KafkaAdminClient, topics: Collection[str]) -> tuple[Group, ...]:
    """The groups that have committed an offset in any of ``topics``, sorted by name, with all their offsets.

    One request a broker to list them, then two a coordinator. Groups that this user may not see are not
    listed: Kafka leaves them out without a word.
    """
    names = sorted({str(group["group_id"]) for group in patiently(admin.list_groups)})
    if not names:
        return ()
    offsets = patiently(lambda: admin.list_group_offsets(names))
    committed = {
        name: {(place.topic, place.partition): at.offset for place, at in offsets[name].items() if at.offset >= 0}
        for name in names
        if name in offsets
    }
    readers = [name for name, held in committed.items() if any(topic in topics for topic, _ in held)]
    described = patiently(lambda: admin.describe_groups(readers)) if readers else {}
    return tuple(
        Group(
            name,
            state=str(described.get(name, {}).get("group_state", "")),
            members=len(described.get(name, {}).get("members", ())),
            offsets=committed[name],
        )
        for name in readers
    )
