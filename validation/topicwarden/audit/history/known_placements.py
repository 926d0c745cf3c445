"""Remember the placement of keys that an audit read again, and since when the number of partitions is known.

A placement holds as long as the log has the same committed records. So it is only used if no partition of the topic
has new, deleted or cleaned records since, and if the rules for keys are the same.

A producer learns of new partitions after its ``metadata.max.age.ms``, which is 5 minutes by default and which no broker
reports. So a record proves that its producer knew today's number only if it was written a margin after the first audit
that saw this number. Kafka never removes a partition (KIP-195).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping

from topicwarden import __version__
from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.history.topic_state import KnownPlacement, PartitionGrowth, TopicState
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.audit.scan.key_scan import TopicKeys
from topicwarden.kafka.read.snapshot import LiveTopic


def known_placements(
    topics: Collection[TopicKeys],
    states: Mapping[str, TopicState],
    unchanged: Collection[TopicPartition],
    partitions: Collection[TopicPartition],
) -> dict[str, KeyPlacement]:
    """Return the placements by earlier audits for those of ``topics`` whose keys need not be read again.

    ``states``: the states in the previous audit, by topic. ``partitions``: those of this audit. ``unchanged``: those
    whose records are the same as in the previous audit.
    """
    changed = {topic for topic, number in partitions if (topic, number) not in unchanged}
    return {
        keys.topic: known.placement
        for keys in topics
        if keys.needs_study
        and keys.topic not in changed
        and (known := _known(keys, states.get(keys.topic))) is not None
    }


def remembered_placements(
    topics: Collection[TopicKeys], placements: Mapping[str, KeyPlacement]
) -> dict[str, KnownPlacement]:
    """Return those of ``placements`` that the next audit need not read again, by topic.

    A declared Python function is called by each audit, because its code may have changed.
    """
    return {
        keys.topic: KnownPlacement(_ranges(keys), _terms(keys), placement)
        for keys in topics
        if keys.needs_study
        and (study := (placement := placements[keys.topic]).study) is not None
        and not study.failed
        and not keys.contents.key.partition_function
    }


def _known(keys: TopicKeys, state: TopicState | None) -> KnownPlacement | None:
    known = state.key_placement if state else None
    return known if known is not None and (known.ranges, known.terms) == (_ranges(keys), _terms(keys)) else None


def _ranges(keys: TopicKeys) -> tuple[tuple[int, int, int], ...]:
    return tuple(sorted((each.partition, each.start, each.end) for each in keys.ranges))


def _terms(keys: TopicKeys) -> str:
    """Return a digest of all that a placement depends on, besides the records."""
    key = keys.contents.key
    decisive = {
        "topicwarden": __version__,
        "partitions": keys.partitions,
        "key": key.model_dump(mode="json"),
        "proven ends": sorted(keys.proven_ends.items()) if key.placed else [],
    }
    return hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()


def partition_growth(live: LiveTopic, past: TopicState | None, now: int, margin: int) -> PartitionGrowth:
    """Return what audits know of the number of partitions, with this audit at ``now`` (ms).

    ``past`` is the previous state of the same topic. ``margin`` (ms) is how long producers may take to notice new
    partitions. A clock that went backwards starts the time again.
    """
    number = live.topic.partitions
    before = _before(past, number)
    since = before.since if before is not None and before.since <= now else now
    ends = proven_ends(before, number, margin)
    if now - since >= margin:
        ends = {partition: extent.end for partition, extent in live.extents.items()} | ends
    return PartitionGrowth(number, since, margin, ends)


def proven_ends(growth: PartitionGrowth | None, partitions: int, margin: int) -> dict[int, int]:
    """Return, by partition, the offset from which on producers knew all ``partitions``; empty if no audit proved it."""
    same = growth is not None and growth.partitions == partitions and growth.margin >= margin
    return dict(growth.ends) if growth is not None and same else {}


def _before(past: TopicState | None, partitions: int) -> PartitionGrowth | None:
    """Return what earlier audits know of today's number of partitions; None if none of them saw it."""
    if past is None:
        return None
    if past.growth is None:  # the state of an earlier version: the audit saw these partitions, and perhaps others
        return PartitionGrowth(partitions, past.taken_at) if len(past.partitions) == partitions else None
    return past.growth if past.growth.partitions == partitions else None
