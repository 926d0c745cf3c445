"""The rule that every record has a key."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.topic_summary import TopicSummary


def infer(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the rule, or how many records have no key."""
    missing = summary.key.nulls
    path = ("key", "required")
    if missing.count == summary.records:
        yield InferredRule(path, None, f"none of {summary.records:,} records has a key")
    elif missing.count:
        yield InferredRule(path, None, f"not required: missing in {missing.among(summary.records)}")
    else:
        evidence = f"all {summary.records:,} records have a key"
        yield InferredRule(path, True, evidence, context.doubt(summary.records))
