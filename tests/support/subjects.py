"""Build the input of checks for tests: one topic with one partition, and only the data that a check reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.collect.horizon import NO_BORDERS, Horizon
from topicwarden.audit.collect.internal_topics import recognise_internal_topics
from topicwarden.audit.evidence import CommittedCounts, view_of
from topicwarden.audit.scan.counts import PartitionCounts, SupersededPair
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.model.contents import Contents
from topicwarden.model.topic import Topic

NOW = 1_800_000_000_000
CONFIG = {
    "cleanup.policy": "delete",
    "segment.ms": "1000",
    "retention.ms": "60000",
    "min.insync.replicas": "2",
    "min.cleanable.dirty.ratio": "0.5",
}
HORIZON = NO_BORDERS

ALL_CONTENTS = Contents.model_validate(
    {
        "key": {"required": True, "format": "string", "partitioner": "murmur2", "max_share": 0.5},
        "value": {"format": "json"},
        "headers": {"required": ["h"]},
        "timestamps": {"type": "CreateTime", "max_ahead": 1, "max_late": 1},
        "records": {"max_bytes": 1},
        "partitions": {"max_skew": 2.0},
        "consumers": {"max_lag": 1},
        "personal": ["email"],
        "arrival": {"max_silence": 1, "every": "1d", "max": 0},
        "expressions": [{"id": "e", "require": "true"}],
    }
)
"""Contents with a rule for each check of contents."""


def subject(
    counts: PartitionCounts | None = None,
    horizon: Horizon = HORIZON,
    *,
    live: Mapping[str, str] | None = None,
    declared: Mapping[str, str] | None = None,
    contents: Contents | None = None,
    replicas: PartitionReplicas | None = None,
    sources: Mapping[str, str] | None = None,
    pairs: tuple[SupersededPair, ...] = (),
) -> AuditedTopic:
    """Return a topic ``t`` with one partition on brokers 1, 2 and 3; ``live`` and ``declared`` change its settings."""
    config = {**CONFIG, **(live or {})}
    topic = Topic("t", 1, 3, config)
    state = replicas or PartitionReplicas(0, 1, (1, 2, 3), (1, 2, 3))
    extent = PartitionExtent(0, 100, 100, NOW, 99, 1_000)
    seen = LiveTopic(topic, "id", sources or dict.fromkeys(config, "DEFAULT_CONFIG"), (state,), {0: extent})
    return AuditedTopic(
        snapshot=Snapshot("c", NOW, {1: None, 2: None, 3: None}, {1: {"broker.id": "1"}}, {topic.name: seen}),
        declared=replace(topic, config=dict(declared or {}), contents=contents or Contents()),
        live=seen,
        horizons={0: horizon},
        counts={0: counts} if counts else {},
        committed={0: counts} if counts else {},
        pairs={0: pairs},
        placement=KeyPlacement(1, 0, {}),
    )


def internal(
    name: str, replicas: tuple[int, ...] = (1, 2, 3), settings: Mapping[str, str] | None = None, *groups: ConsumerGroup
) -> AuditedTopic:
    """Return an undeclared topic ``name`` on brokers 1, 2 and 3, with one partition on ``replicas``.

    Its role comes from ``name`` and the consumer ``groups``.
    """
    compact = {"cleanup.policy": "compact", "min.insync.replicas": "1"}
    of = subject(live={**compact, **(settings or {})}, replicas=PartitionReplicas(0, replicas[0], replicas, replicas))
    assert of.live
    topic = replace(of.live.topic, name=name, replication_factor=len(replicas))
    role = recognise_internal_topics([name], groups, {}, workers=False).get(name)
    return replace(of, declared=None, live=replace(of.live, topic=topic), internal=role)


def counted(of: AuditedTopic) -> CommittedCounts:
    """Return the same topic as a check of records sees it."""
    view = view_of(CommittedCounts, of)
    assert view
    return view


def unreadable(of: AuditedTopic) -> AuditedTopic:
    """Return the same topic for a user who may not read its records."""
    return replace(of, counts=None, committed=None)


def with_brokers(of: AuditedTopic, *configs: Mapping[str, str]) -> AuditedTopic:
    """Return a copy of the topic; broker 1 has the first of ``configs``, broker 2 the second, and so on."""
    return replace(of, snapshot=replace(of.snapshot, broker_configs=dict(enumerate(configs, 1))))
