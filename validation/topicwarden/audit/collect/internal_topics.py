"""Recognise the topics that Kafka, Kafka Connect and Kafka Streams create for themselves.

Kafka reserves the names of its own topics. The names of Connect's and Streams' topics are a convention and prove
nothing alone. A Connect topic is certain if the keys of its newest records are those that Connect workers write
(``KafkaConfigBackingStore``, ``KafkaOffsetBackingStore``, ``KafkaStatusBackingStore``). A Streams topic is certain if a
group with the application's id commits offsets as Streams does.
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
    """The contents of an internal topic, and the settings that its owner needs.

    ``policies``: the valid values of ``cleanup.policy``. ``keeps_every_record``: the broker must not delete records by
    time or size. ``single_partition``: the topic must have exactly one partition. ``replication_factor_setting`` and
    ``min_isr_setting`` name the broker settings that apply when the topic is created.
    """

    contents: str
    policies: tuple[frozenset[str], ...]
    keeps_every_record: bool = False
    single_partition: bool = False
    replication_factor_setting: str = "default.replication.factor"
    min_isr_setting: str | None = None


class InternalRole(Enum):
    """The purpose of an internal topic."""

    GROUPS = InternalTopicPolicy(
        "the committed offsets of consumer groups",
        (_COMPACT,),
        replication_factor_setting="offsets.topic.replication.factor",
    )
    TRANSACTIONS = InternalTopicPolicy(
        "the state of transactions",
        (_COMPACT,),
        replication_factor_setting="transaction.state.log.replication.factor",
        min_isr_setting="transaction.state.log.min.isr",
    )
    SHARE_GROUPS = InternalTopicPolicy(
        "the state of share groups",
        (_DELETE,),
        keeps_every_record=True,
        replication_factor_setting="share.coordinator.state.topic.replication.factor",
        min_isr_setting="share.coordinator.state.topic.min.isr",
    )
    REMOTE_LOG = InternalTopicPolicy("the metadata of segments in tiered storage", (_DELETE,))
    CONNECT_CONFIGS = InternalTopicPolicy(
        "Kafka Connect's connectors and their configurations", (_COMPACT,), single_partition=True
    )
    CONNECT_OFFSETS = InternalTopicPolicy("the source offsets of Kafka Connect's connectors", (_COMPACT,))
    CONNECT_STATUS = InternalTopicPolicy("the states of Kafka Connect's connectors and tasks", (_COMPACT,))
    CHANGELOG = InternalTopicPolicy("a state store of Kafka Streams", (_COMPACT, _COMPACT | _DELETE))
    REPARTITION = InternalTopicPolicy(
        "records that Kafka Streams has yet to process", (_DELETE,), keeps_every_record=True
    )


@dataclass(frozen=True)
class InternalTopic:
    """The role of a topic. ``certain`` is false if only a naming convention indicates the role.

    ``recognised_by`` names the evidence for the role, for messages.
    """

    role: InternalRole
    recognised_by: str
    certain: bool

    @property
    def policy(self) -> InternalTopicPolicy:
        return self.role.value

    @property
    def description(self) -> str:
        return f"it contains {self.policy.contents}; recognised by {self.recognised_by}"


KAFKA_TOPICS = {
    "__consumer_offsets": InternalRole.GROUPS,
    "__transaction_state": InternalRole.TRANSACTIONS,
    "__share_group_state": InternalRole.SHARE_GROUPS,
    "__remote_log_metadata": InternalRole.REMOTE_LOG,
}
_STREAMS_NAMES = {
    re.compile(r".+-changelog"): InternalRole.CHANGELOG,
    re.compile(r".+-(repartition|subscription-(registration|response)-topic)"): InternalRole.REPARTITION,
}
_CONNECT_NAME = re.compile(r"(?:.*[-_.])?(offset|config|status)(?:e?s)?(?:[-_.].*)?")
_CONNECT_ROLES = {
    "config": InternalRole.CONNECT_CONFIGS,
    "offset": InternalRole.CONNECT_OFFSETS,
    "status": InternalRole.CONNECT_STATUS,
}
_CONFIG_KEY = re.compile(rb"(connector|task|commit|target-state|restart-connector|logger-cluster|task-count-record)-.+")
_STATUS_KEY = re.compile(rb"status-(connector|task|topic)-.+")
MOST_CANDIDATES = 50


def fits_connect_name(name: str) -> bool:
    """Return whether the name fits a topic of Kafka Connect; only the keys of its records can confirm that."""
    return name not in KAFKA_TOPICS and _CONNECT_NAME.fullmatch(name) is not None


def connect_candidates(topics: Mapping[str, LiveTopic]) -> dict[str, LiveTopic]:
    """Return the topics whose keys show whether they belong to Kafka Connect, ``MOST_CANDIDATES`` at most."""
    matching = [(name, live) for name, live in topics.items() if fits_connect_name(name)]
    return dict(sorted(matching, key=lambda item: "connect" not in item[0])[:MOST_CANDIDATES])


def recognise_internal_topics(
    topics: Iterable[str], groups: Collection[ConsumerGroup], keys: Mapping[str, Collection[bytes]]
) -> dict[str, InternalTopic]:
    """Return the internal topics among ``topics``, by name.

    ``keys`` are the keys of the newest records of the topics from ``connect_candidates``.
    """
    applications = sorted((group.name for group in groups if group.streams), key=len, reverse=True)
    found = {name: _recognise(name, applications, keys.get(name, ())) for name in topics}
    return {name: internal for name, internal in found.items() if internal is not None}


def _recognise(name: str, applications: Iterable[str], keys: Collection[bytes]) -> InternalTopic | None:
    if name in KAFKA_TOPICS:
        return InternalTopic(KAFKA_TOPICS[name], "its name, which Kafka reserves for itself", certain=True)
    if role := next((role for pattern, role in _STREAMS_NAMES.items() if pattern.fullmatch(name)), None):
        owner = next((application for application in applications if name.startswith(f"{application}-")), None)
        if owner is None:
            return InternalTopic(role, "its name alone, which has the form of a Kafka Streams topic", certain=False)
        return InternalTopic(role, f"its name and by group {owner}, which commits as Kafka Streams does", certain=True)
    match = _CONNECT_NAME.fullmatch(name)
    if match is None:
        return None
    role = _CONNECT_ROLES[match[1]]
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
        content = json.loads(key)
    except (UnicodeDecodeError, ValueError):
        return False
    return (
        isinstance(content, list) and len(content) == 2 and isinstance(content[0], str) and isinstance(content[1], dict)
    )
