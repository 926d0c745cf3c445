"""The format of keys and values. Values in Confluent's wire format refer to their subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.topic_summary import EncodedSummary, Tally, TopicSummary

_PLAIN: Final = ("uuid", "json", "string", "int", "long")
"""The formats without a schema, the strictest first. ``int`` and ``long`` are tried if the bytes are not printable."""


def infer_key(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the format of the keys."""
    yield from _infer("key", summary, context)


def infer_value(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the format of the values."""
    yield from _infer("value", summary, context)


def format_of(encoded: EncodedSummary, records: int) -> str | None:
    """Return the strictest plain format of all ``records``; None if they have none, or are all null."""
    if records == encoded.nulls.count:
        return None
    return next((each for each in _PLAIN if _exceptions(encoded, each, records).count == 0), None)


def _exceptions(encoded: EncodedSummary, format: str, records: int) -> Tally:
    if format == "json" and not encoded.json.count("object", "array"):
        return Tally(records - encoded.nulls.count)  # numbers and words are texts
    return encoded.missed("text" if format == "string" else format)


def _infer(part: str, summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    encoded = summary.encoded(part)
    judged = summary.records - encoded.nulls.count
    if not judged:
        return
    doubt = context.doubt(judged)
    formats = context.registered.get(part, {})
    if isinstance(formats, str):
        yield InferredRule((part, "format"), None, f"all {judged:,} {part}s look like the wire format, but {formats}")
        return
    if registered := _registered(encoded, formats):
        ids = len(encoded.schema_ids or {})
        evidence = f"{judged:,} {part}s name {'one schema' if ids == 1 else f'{ids} schemas'} of the subject"
        yield InferredRule((part, "format"), registered, evidence, doubt)
        yield InferredRule((part, "registry"), True, "", doubt)
        return
    format = format_of(encoded, summary.records)
    if format is None:
        format = "string" if not encoded.missed("string").count else None
    if format is None:
        yield InferredRule((part, "format"), None, f"no format has all {judged:,} {part}s{_nearest(encoded, judged)}")
        return
    evidence = f"all {judged:,} {part}s"
    if encoded.unreadable.count:
        evidence += f"; too large to look into: {encoded.unreadable.among(judged)}"
    if format == "string":
        evidence += _nearest(encoded, judged, ("uuid", "json", "registry"))
    yield InferredRule((part, "format"), format, evidence, doubt)


def _registered(encoded: EncodedSummary, formats: Mapping[int, str]) -> str | None:
    """Return the format of the schemas that all records name; None if some name none of the subject."""
    if encoded.missed("registry").count or not encoded.schema_ids or not encoded.schema_ids.keys() <= formats.keys():
        return None
    found = {formats[id] for id in encoded.schema_ids}
    return found.pop() if len(found) == 1 else None


def _nearest(encoded: EncodedSummary, judged: int, formats: Sequence[str] = (*_PLAIN, "registry")) -> str:
    """Return how many records break the one of ``formats`` that most of them have."""
    missed = {each: tally for each, tally in encoded.not_in_format.items() if each in formats}
    missed = {each: tally for each, tally in missed.items() if 0 < tally.count < judged / 2}
    if not missed:
        return ""
    name = min(missed, key=lambda each: missed[each].count)
    return f"; not {'in the wire format' if name == 'registry' else name}: {missed[name].among(judged)}"
