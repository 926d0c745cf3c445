"""Summaries of records, as the reader returns them, with defaults for what a test does not concern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from topicwarden.audit.inference.inferred_rule import InferenceContext
from topicwarden.audit.inference.topic_summary import EncodedSummary, JsonShape, Tally, TopicSummary

RECORDS = 1_200
FORMATS = ("uuid", "date-time", "date", "email", "ipv4", "uri")
CONTEXT = InferenceContext(read_at=1_790_000_000_000, partition_count=3)


def first(count: int, partition: int = 0, offset: int = 0) -> Tally:
    return Tally(count, partition, offset)


def shape(fields: Mapping[str, JsonShape] | None = None, **types: int) -> JsonShape:
    """Return the shape of values of these JSON types; with ``fields``, of objects."""
    counts = types or {"object": RECORDS}
    tallies = {name: first(count) for name, count in counts.items()}
    missed = dict.fromkeys(FORMATS, tallies["string"]) if "string" in tallies else {}
    return JsonShape(tallies, missed, None, fields=fields or {})


def encoded(json: JsonShape | None = None, nulls: int = 0, *, records: int = RECORDS, **missed: int) -> EncodedSummary:
    """Return keys or values: ``missed`` has the records without a format; JSON objects miss all but JSON and text."""
    defaults = {"json": 0 if json else records, "string": 0, "text": 0, "uuid": records}
    counts = {**defaults, "int": records, "long": records, "registry": records, **missed}
    tallies = {name: first(count, 2, 5512) for name, count in counts.items() if count}
    return EncodedSummary(first(nulls, 1, 7), tallies, Tally(), {}, json or JsonShape())


def summary(**changes: Any) -> TopicSummary:
    """Return the summary of ``RECORDS`` records with text as keys, and JSON objects as values."""
    found = TopicSummary(
        records=RECORDS,
        key=encoded(),
        value=encoded(shape({"id": shape(integer=RECORDS)})),
        headers={},
        timestamp_types={"CreateTime": first(RECORDS)},
        sizes={64: first(RECORDS - 3), 512: first(3, 1, 40)},
        largest=300,
        misplaced={name: first(900) for name in ("crc32", "fnv1a", "fnv1a-masked", "fnv1a-unsigned")},
        partitions={number: first(RECORDS // 3) for number in range(3)},
        distinct_keys=64,
        newest=CONTEXT.read_at - 1,
    )
    return replace(found, **changes)
