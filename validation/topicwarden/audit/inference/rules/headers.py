"""The headers that every record has."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.topic_summary import TopicSummary


def infer(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the rule, with how many records lack the other headers."""
    path = ("headers", "required")
    if summary.headers is None:
        yield InferredRule(path, None, "the records have too many names of headers")
        return
    required = [name for name, missing in summary.headers.items() if not missing.count]
    others = [
        f"{name} is missing in {missing.among(summary.records)}"
        for name, missing in summary.headers.items()
        if missing.count
    ]
    if required:
        evidence = "; ".join([f"in all {summary.records:,} records", *others])
        yield InferredRule(path, required, evidence, context.doubt(summary.records))
    elif others:
        yield InferredRule(path, None, f"not required: {'; '.join(others)}")
