"""Recognise the topics that Kafka, Kafka Connect and Kafka Streams create for themselves.

Kafka reserves the names of its own topics. The names of Connect's and Streams' topics are a convention and prove
nothing alone. A Connect topic is certain if its newest records have the keys and the values that Connect's workers
write (``KafkaConfigBackingStore``, ``KafkaOffsetBackingStore``, ``KafkaStatusBackingStore``), of several kinds where
Connect writes several, and the cluster has a group of workers. A Streams topic is certain if a group with the
application's id commits offsets as Streams does: in this topic, if Streams reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from topicwarden.kafka.read.snapshot import LiveTopic

if TYPE_CHECKING:
    from topicwarden.kafka.read.consumer_groups import ConsumerGroup

KeyAndValue = tuple[bytes | None, bytes | None]
"""A record's key and value."""

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
    re.compile(r".+-.+-changelog"): InternalRole.CHANGELOG,
    re.compile(r".+-.+-(repartition|subscription-(registration|response)-topic)"): InternalRole.REPARTITION,
}
_CONNECT_NAME = re.compile(r"(?:.*[-_.])?(offset|config|status)(?:e?s)?(?:[-_.].*)?")
_CONNECT_ROLES = {
    "config": InternalRole.CONNECT_CONFIGS,
    "offset": InternalRole.CONNECT_OFFSETS,
    "status": InternalRole.CONNECT_STATUS,
}
_CONFIG_FIELDS = {
    re.compile(rb"connector-.+"): {"properties"},
    re.compile(rb"task-.+-\d+"): {"properties"},
    re.compile(rb"commit-.+"): {"tasks"},
    re.compile(rb"target-state-.+"): {"state"},
    re.compile(rb"task-count-record-.+"): {"task-count"},
    re.compile(rb"restart-connector-.+"): {"include-tasks", "only-failed"},
    re.compile(rb"logger-cluster-.+"): {"level"},
    re.compile(rb"session-key"): {"key", "algorithm", "creation-timestamp"},
}
_STATUS_FIELDS = {
    re.compile(rb"status-connector-.+"): {"state", "worker_id", "generation"},
    re.compile(rb"status-task-.+"): {"state", "worker_id", "generation"},
    re.compile(rb"status-topic-.+:connector-.+"): {"topic"},
}
"""The fields that the values of such keys have (``KafkaConfigBackingStore``, ``KafkaStatusBackingStore``)."""
MOST_CANDIDATES = 50


def fits_connect_name(name: str) -> bool:
    """Return whether the name fits a topic of Kafka Connect; only the keys of its records can confirm that."""
    return name not in KAFKA_TOPICS and _CONNECT_NAME.fullmatch(name) is not None


def connect_candidates(topics: Mapping[str, LiveTopic]) -> dict[str, LiveTopic]:
    """Return the topics whose keys show whether they belong to Kafka Connect, ``MOST_CANDIDATES`` at most."""
    matching = [(name, live) for name, live in topics.items() if fits_connect_name(name)]
    return dict(sorted(matching, key=lambda item: "connect" not in item[0])[:MOST_CANDIDATES])


def recognise_internal_topics(
    topics: Iterable[str],
    groups: Collection[ConsumerGroup],
    records: Mapping[str, Collection[KeyAndValue]],
    *,
    workers: bool,
) -> dict[str, InternalTopic]:
    """Return the internal topics among ``topics``, by name.

    ``records`` are the newest records of the topics from ``connect_candidates``. ``workers``: the cluster has a group
    of Connect workers.
    """
    applications = sorted((group for group in groups if group.streams), key=lambda group: -len(group.name))
    found = {name: _recognise(name, applications, records.get(name, ()), workers=workers) for name in topics}
    return {name: internal for name, internal in found.items() if internal is not None}


def _recognise(
    name: str, applications: Iterable[ConsumerGroup], records: Collection[KeyAndValue], *, workers: bool
) -> InternalTopic | None:
    if name in KAFKA_TOPICS:
        return InternalTopic(KAFKA_TOPICS[name], "its name, which Kafka reserves for itself", certain=True)
    if role := _streams_role(name):
        return _streams_topic(name, role, applications)
    match = _CONNECT_NAME.fullmatch(name)
    return _connect_topic(name, _CONNECT_ROLES[match[1]], records, workers=workers) if match else None


def _streams_topic(name: str, role: InternalRole, applications: Iterable[ConsumerGroup]) -> InternalTopic:
    owner = next((group for group in applications if _streams_role(name, group.name)), None)
    if owner is None or (role is InternalRole.REPARTITION and name not in owner.topics):
        return InternalTopic(role, "its name alone, which has the form of a Kafka Streams topic", certain=False)
    return InternalTopic(role, f"its name and by group {owner.name}, which commits as Kafka Streams does", certain=True)


def _connect_topic(
    name: str, role: InternalRole, records: Collection[KeyAndValue], *, workers: bool
) -> InternalTopic | None:
    if not records:
        return InternalTopic(role, "its name alone", certain=False) if "connect" in name else None
    kinds = {_connect_kind(record, role) for record in records}
    if None in kinds or not any(value for _, value in records):
        return None
    if len(kinds) < 2 and role is not InternalRole.CONNECT_OFFSETS:
        return InternalTopic(role, "its name and records of one kind", certain=False)
    if not workers:
        return InternalTopic(role, "its name and records, but no group of Connect workers is visible", certain=False)
    return InternalTopic(role, "its name, its newest records, and a group of Connect workers", certain=True)


def _streams_role(name: str, application: str = "") -> InternalRole | None:
    """Return the role of a Streams topic with this name; None if it is not one of ``application``, if given."""
    if application and not name.startswith(f"{application}-"):
        return None
    rest = f"-{name[len(application) :]}" if application else name
    return next((role for pattern, role in _STREAMS_NAMES.items() if pattern.fullmatch(rest)), None)


def _connect_kind(record: KeyAndValue, role: InternalRole) -> str | None:
    """Return the kind of a record of ``role``; None if its key, or the value that it has, is another one."""
    key, value = record
    if key is None:
        return None
    if role is InternalRole.CONNECT_OFFSETS:
        where = _json(key)
        is_offset = isinstance(where, list) and len(where) == 2 and isinstance(where[0], str)
        is_offset = is_offset and isinstance(where[1], dict) and (not value or isinstance(_json(value), dict))
        return "offset" if is_offset else None
    fields = _CONFIG_FIELDS if role is InternalRole.CONNECT_CONFIGS else _STATUS_FIELDS
    pattern, needed = next(((form, names) for form, names in fields.items() if form.fullmatch(key)), (None, set()))
    content = _json(value) if value else None
    is_valid = not value or (isinstance(content, dict) and needed <= content.keys())
    return pattern.pattern.decode() if pattern is not None and is_valid else None


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (UnicodeDecodeError, ValueError, RecursionError):
        return None
