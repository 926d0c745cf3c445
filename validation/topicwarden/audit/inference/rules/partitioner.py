"""The partitioner that puts all keys where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.topic_summary import NO_RECORD, TopicSummary

PARTITIONERS: Final = ("murmur2", "crc32", "fnv1a")
_LEAST_KEYS: Final = 32
"""A wrong partitioner puts this number of keys where they are with a probability of at most 2^-32."""


def infer(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the rule, or how many records the best partitioner would put elsewhere."""
    if context.partition_count < 2 or summary.distinct_keys < _LEAST_KEYS:
        return
    keyed = summary.records - summary.key.nulls.count
    misplaced = {name: summary.misplaced.get(name, NO_RECORD) for name in PARTITIONERS}
    best = min(PARTITIONERS, key=lambda name: misplaced[name].count)
    path = ("key", "partitioner")
    if not misplaced[best].count:
        evidence = f"all {keyed:,} keys are where it puts them among {context.partition_count} partitions"
        yield InferredRule(path, best, evidence, context.doubt(keyed))
    elif misplaced[best].count < keyed / (2 * context.partition_count):
        yield InferredRule(path, None, f"not {best}: {misplaced[best].among(keyed)} is elsewhere")
