"""The maximum size of a record: a power of two above twice the largest one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.topic_summary import TopicSummary
from topicwarden.model.units import SIZE

_SMALLEST: Final = 1_024
_RARE: Final = 0.1
"""Records are named as large if they are at most this share of all."""


def infer(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the rule, with the number of records of the largest size."""
    if not summary.sizes:
        return
    largest = max(summary.sizes)
    bound = max(_SMALLEST, 2 * largest)
    evidence = f"the largest of {summary.records:,} records has {summary.largest:,} bytes"
    if largest > 1 and summary.sizes[largest].count <= _RARE * summary.records:
        evidence += f"; above {largest // 2:,} bytes: {summary.sizes[largest].among(summary.records)}"
    yield InferredRule(("records", "max_bytes"), SIZE.format(bound), evidence, context.doubt(summary.records))
