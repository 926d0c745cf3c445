"""The state of a group and what its members read, as a coordinator describes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupDescription:
    """The state of a group, the number of its members, and the (topic, partition) pairs that they read now.

    ``streams`` is true if the members are of a Kafka Streams application.
    """

    state: str
    members: int
    assigned: frozenset[tuple[str, int]]
    streams: bool
