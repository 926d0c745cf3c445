"""The rules of ``contents:`` that records can show, in the order in which they are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from topicwarden.audit.inference.inferred_rule import InferenceContext, InferredRule
from topicwarden.audit.inference.topic_summary import NO_RECORD, EncodedSummary, JsonShape, Tally, TopicSummary
from topicwarden.model.units import DURATION, SIZE

Inference: TypeAlias = Callable[[TopicSummary, InferenceContext], Iterator[InferredRule]]

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


def infer_key_required(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the rule that every record has a key, or how many records have none."""
    missing = summary.key.nulls
    path = ("key", "required")
    if missing.count == summary.records:
        yield InferredRule(path, None, f"none of {summary.records:,} records has a key")
    elif missing.count:
        yield InferredRule(path, None, f"not required: missing in {missing.among(summary.records)}")
    else:
        evidence = f"all {summary.records:,} records have a key"
        yield InferredRule(path, True, evidence, context.doubt(summary.records))


PARTITIONERS: Final = ("murmur2", "crc32", "fnv1a")
_LEAST_KEYS: Final = 32
"""A wrong partitioner puts this number of keys where they are with a probability of at most 2^-32."""


def infer_partitioner(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the partitioner that puts all keys where they are, or how many records the best one would put elsewhere."""
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


def infer_headers(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the headers that every record has, with how many records lack the others."""
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


AHEAD: Final = (3_600_000, 86_400_000)
"""The values of ``max_ahead`` (ms) that are tried: Kafka's own default since 4.0 (KIP-1030), and a day."""
MAX_LATE: Final = 86_400_000
"""The value of ``max_late`` (ms) that is tried."""
_TYPES: Final = ("CreateTime", "LogAppendTime")


def infer_timestamp_bounds(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the clock that stamps the records, how far they are in the future, and how late they are."""
    doubt = context.doubt(summary.records)
    types = {name: tally for name, tally in summary.timestamp_types.items() if tally.count}
    if len(types) > 1:
        counts = ", ".join(f"{name}: {tally.among(summary.records)}" for name, tally in sorted(types.items()))
        yield InferredRule(("timestamps", "type"), None, f"several types; {counts}")
    for name in _TYPES:
        if list(types) == [name]:
            yield InferredRule(("timestamps", "type"), name, f"all {summary.records:,} records", doubt)
    if list(types) != ["CreateTime"]:
        return
    ahead = summary.newest - context.read_at
    bound = next((each for each in AHEAD if ahead <= each), None)
    path = ("timestamps", "max_ahead")
    if bound is None:
        yield InferredRule(path, None, "the newest timestamp is more than a day after the clock of this machine")
    else:
        evidence = f"the newest of {summary.records:,} records is no further ahead of the clock of this machine"
        yield InferredRule(path, DURATION.format(bound), evidence, doubt)
    path = ("timestamps", "max_late")
    if context.late:
        yield InferredRule(path, None, f"not {DURATION.format(MAX_LATE)}: {context.late}")
    else:
        evidence = f"none of {summary.records:,} records is older than an earlier one by more"
        yield InferredRule(path, DURATION.format(MAX_LATE), evidence, doubt)


_SMALLEST_SIZE: Final = 1_024
_RARE: Final = 0.1
"""Records are named as large if they are at most this share of all."""


def infer_record_size(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the maximum size of a record, a power of two above twice the largest one, and how many are as large."""
    if not summary.sizes:
        return
    largest = max(summary.sizes)
    bound = max(_SMALLEST_SIZE, 2 * largest)
    evidence = f"the largest of {summary.records:,} records has {summary.largest:,} bytes"
    if largest > 1 and summary.sizes[largest].count <= _RARE * summary.records:
        evidence += f"; above {largest // 2:,} bytes: {summary.sizes[largest].among(summary.records)}"
    yield InferredRule(("records", "max_bytes"), SIZE.format(bound), evidence, context.doubt(summary.records))


_RECORDS_OF_A_PARTITION: Final = 100
"""With fewer records for each partition, chance decides which one is the fullest."""
_SMALLEST_SKEW: Final = 2.0


def infer_partition_skew(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the maximum size of a partition, as a multiple of the mean: half as much again as that of the fullest one.

    Nothing, unless all retained records were read.
    """
    enough = summary.records >= _RECORDS_OF_A_PARTITION * context.partition_count
    if context.partition_count < 2 or not context.whole or not enough:
        return
    fullest = max(summary.partitions, key=lambda partition: summary.partitions[partition].count)
    skew = summary.partitions[fullest].count * context.partition_count / summary.records
    bound = max(_SMALLEST_SKEW, math.ceil(1.5 * skew * 2) / 2)
    if bound < context.partition_count:
        evidence = f"partition {fullest} has {skew:.2f} times the mean of {summary.records:,} records"
        yield InferredRule(("partitions", "max_skew"), bound, evidence, context.doubt(summary.records))


def infer_personal(summary: TopicSummary, context: InferenceContext) -> Iterator[InferredRule]:
    """Yield the fields that look like personal data: always a suggestion, as no program knows what a field is."""
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


INFERENCES: Final[tuple[Inference, ...]] = (
    infer_key,
    infer_key_required,
    infer_partitioner,
    infer_value,
    infer_headers,
    infer_timestamp_bounds,
    infer_record_size,
    infer_partition_skew,
    infer_personal,
)
