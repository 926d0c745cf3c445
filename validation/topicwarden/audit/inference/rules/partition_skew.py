"""The maximum size of a partition, as a multiple of the mean: half as much again as that of the fullest one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.topic_summary import TopicSummary

_RECORDS_OF_A_PARTITION: Final = 100
"""With fewer records for each partition, chance decides which one is the fullest."""
_SMALLEST: Final = 2.0


def infer(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the rule, if all retained records were read."""
    enough = summary.records >= _RECORDS_OF_A_PARTITION * context.partition_count
    if context.partition_count < 2 or not context.whole or not enough:
        return
    fullest = max(summary.partitions, key=lambda partition: summary.partitions[partition].count)
    skew = summary.partitions[fullest].count * context.partition_count / summary.records
    bound = max(_SMALLEST, math.ceil(1.5 * skew * 2) / 2)
    if bound < context.partition_count:
        evidence = f"partition {fullest} has {skew:.2f} times the mean of {summary.records:,} records"
        yield InferredRule(("partitions", "max_skew"), bound, evidence, context.doubt(summary.records))
