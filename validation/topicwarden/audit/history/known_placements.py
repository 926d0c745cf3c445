"""Remember the placement of keys that an audit read again, so that the next audit need not read them.

It holds as long as the log has the same committed records. So it is only used if no partition of the topic
has new, deleted or cleaned records since, and if the rules for keys are the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping

from topicwarden import __version__
from topicwarden.audit.collect.horizon import TopicPartition
from topicwarden.audit.history.topic_state import KnownPlacement, TopicState
from topicwarden.audit.scan.key_placement import KeyPlacement
from topicwarden.audit.scan.key_scan import TopicKeys


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
