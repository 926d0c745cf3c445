"""Topics that Kafka, Kafka Connect and Kafka Streams make for themselves: which they are, and how that is known.

Kafka keeps its own names for itself. The others' names are a convention, so that more is asked of them before anything
is proven by it: of Connect's, that the keys of their newest records are those that its workers write
(``KafkaConfigBackingStore``, ``KafkaOffsetBackingStore``, ``KafkaStatusBackingStore``); of Streams', that a group of
the application's id commits as Streams does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from topicwarden.kafka.consumer_groups import ConsumerGroup
from topicwarden.kafka.snapshot import LiveTopic

_COMPACT, _DELETE = frozenset({"compact"}), frozenset({"delete"})


@dataclass(frozen=True)
class InternalTopicPolicy:
    """What a topic holds, and what it must be for that: any one of ``policies``, and nothing deleted where ``keeps``.

    ``copies`` and ``in_sync`` are the brokers' settings for it, where there are such.
    """

    holds: str
    policies: tuple[frozenset[str], ...]
    keeps: bool = False
    single: bool = False
    copies: str = "default.replication.factor"
    in_sync: str | None = None


class InternalRole(Enum):
    """What a topic is for."""

    GROUPS = InternalTopicPolicy(
        "the committed offsets of consumer groups", (_COMPACT,), copies="offsets.topic.replication.factor"
    )
    TRANSACTIONS = InternalTopicPolicy(
        "the state of transactions",
        (_COMPACT,),
        copies="transaction.state.log.replication.factor",
        in_sync="transaction.state.log.min.isr",
    )
    SHARE_GROUPS = InternalTopicPolicy(
        "the state of share groups",
        (_DELETE,),
        keeps=True,
        copies="share.coordinator.state.topic.replication.factor",
        in_sync="share.coordinator.state.topic.min.isr",
    )
    REMOTE_LOG = InternalTopicPolicy("which segments lie in tiered storage", (_DELETE,))
    CONNECT_CONFIGS = InternalTopicPolicy(
        "Kafka Connect's connectors and their configurations", (_COMPACT,), single=True
    )
    CONNECT_OFFSETS = InternalTopicPolicy("how far Kafka Connect's source connectors have come", (_COMPACT,))
    CONNECT_STATUS = InternalTopicPolicy("the states of Kafka Connect's connectors and tasks", (_COMPACT,))
    CHANGELOG = InternalTopicPolicy("a state store of Kafka Streams'", (_COMPACT, _COMPACT | _DELETE))
    REPARTITION = InternalTopicPolicy("what Kafka Streams has yet to process", (_DELETE,), keeps=True)


@dataclass(frozen=True)
class InternalTopic:
    """A topic's role, ``how`` it is known, and whether that is more than a convention of names."""

    role: InternalRole
    how: str
    certain: bool

    @property
    def needs(self) -> InternalTopicPolicy:
        return self.role.value

    @property
    def said(self) -> str:
        return f"it holds {self.needs.holds}, as is known by {self.how}"


KAFKAS = {
    "__consumer_offsets": InternalRole.GROUPS,
    "__transaction_state": InternalRole.TRANSACTIONS,
    "__share_group_state": InternalRole.SHARE_GROUPS,
    "__remote_log_metadata": InternalRole.REMOTE_LOG,
}
_STREAMS = {
    re.compile(r".+-changelog"): InternalRole.CHANGELOG,
    re.compile(r".+-(repartition|subscription-(registration|response)-topic)"): InternalRole.REPARTITION,
}
_CONNECT = re.compile(r"(?:.*[-_.])?(offset|config|status)(?:e?s)?(?:[-_.].*)?")
_CONNECTS = {
    "config": InternalRole.CONNECT_CONFIGS,
    "offset": InternalRole.CONNECT_OFFSETS,
    "status": InternalRole.CONNECT_STATUS,
}
_CONFIG_KEY = re.compile(rb"(connector|task|commit|target-state|restart-connector|logger-cluster|task-count-record)-.+")
_STATUS_KEY = re.compile(rb"status-(connector|task|topic)-.+")
MOST_CANDIDATES = 50


def may_be_connects(name: str) -> bool:
    """Return whether the keys of the topic's records decide whether the topic is one of Kafka Connect's."""
    return name not in KAFKAS and _CONNECT.fullmatch(name) is not None


def candidates(topics: Mapping[str, LiveTopic]) -> dict[str, LiveTopic]:
    """Topics whose keys would tell whether they are Connect's; no more than ``MOST_CANDIDATES``."""
    like = [(name, live) for name, live in topics.items() if may_be_connects(name)]
    return dict(sorted(like, key=lambda one: "connect" not in one[0])[:MOST_CANDIDATES])


def recognised(
    topics: Iterable[str], groups: Collection[ConsumerGroup], keys: Mapping[str, Collection[bytes]]
) -> dict[str, InternalTopic]:
    """The internal ones among ``topics``; ``keys`` are those of the newest records of ``candidates``."""
    applications = sorted((group.name for group in groups if group.streams), key=len, reverse=True)
    found = {name: _recognised(name, applications, keys.get(name, ())) for name in topics}
    return {name: internal for name, internal in found.items() if internal is not None}


def _recognised(name: str, applications: Iterable[str], keys: Collection[bytes]) -> InternalTopic | None:
    if name in KAFKAS:
        return InternalTopic(KAFKAS[name], "its name, which Kafka keeps for itself", certain=True)
    if role := next((role for like, role in _STREAMS.items() if like.fullmatch(name)), None):
        owner = next((one for one in applications if name.startswith(f"{one}-")), None)
        if owner is None:
            return InternalTopic(role, "its name alone, which is one of Kafka Streams'", certain=False)
        return InternalTopic(role, f"its name, and by group {owner}, which commits as Kafka Streams does", certain=True)
    like = _CONNECT.fullmatch(name)
    if like is None:
        return None
    role = _CONNECTS[like[1]]
    if keys:
        fits = all(_written_by_connect(key, role) for key in keys)
        return InternalTopic(role, "its name and the keys of its newest records", certain=True) if fits else None
    return InternalTopic(role, "its name alone", certain=False) if "connect" in name else None


def _written_by_connect(key: bytes, role: InternalRole) -> bool:
    if role is InternalRole.CONNECT_CONFIGS:
        return key == b"session-key" or _CONFIG_KEY.fullmatch(key) is not None
    if role is InternalRole.CONNECT_STATUS:
        return _STATUS_KEY.fullmatch(key) is not None
    try:
        told = json.loads(key)
    except (UnicodeDecodeError, ValueError):
        return False
    return isinstance(told, list) and len(told) == 2 and isinstance(told[0], str) and isinstance(told[1], dict)
