"""The fields that look like personal data. Always a suggestion: no program knows what a field is."""

from __future__ import annotations

from collections.abc import Iterator

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.rules.encoding import format_of
from topicwarden.audit.inference.topic_summary import JsonShape, TopicSummary


def infer(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the suggestion."""
    if format_of(summary.value, summary.records) != "json":
        return
    kinds = dict(_personal(summary.value.json, ""))
    if kinds:
        evidence = "; ".join(f"{path} looks like personal data: {kind}" for path, kind in kinds.items())
        yield InferredRule(("personal",), list(kinds), evidence, "only people know which fields are personal")


def _personal(shape: JsonShape, path: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of fields that look personal, with the most frequent kind. ``*`` is any name."""
    if shape.personal and path:
        yield path, max(sorted(shape.personal), key=lambda kind: shape.personal[kind].count)
    prefix = f"{path}." if path else ""
    for name, field in shape.fields.items():
        if "." not in name:
            yield from _personal(field, prefix + name)
    if shape.others:
        yield from _personal(shape.others, f"{prefix}*")
    if shape.items:
        yield from _personal(shape.items, path)
