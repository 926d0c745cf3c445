"""The summary of the records of one topic, as ``TopicSummary.java`` counts it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

JSON_TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")


@dataclass(frozen=True)
class Tally:
    """A number of records, or of values in them, and the partition and the offset of the first record."""

    count: int = 0
    partition: int = 0
    offset: int = 0

    @staticmethod
    def of(entry: Any) -> Tally:
        """Return the tally of three numbers; an empty one for None."""
        return Tally(*entry) if entry else Tally()

    def among(self, total: int) -> str:
        """Return ``3 of 120,331, first at 2:5512``: the count, and the partition and offset of the first record."""
        return f"{self.count:,} of {total:,}, first at {self.partition}:{self.offset}"


NO_RECORD: Final = Tally()


@dataclass(frozen=True)
class JsonShape:
    """The summary of the JSON values at one path.

    ``types``: the values by JSON type; ``integer`` and ``number`` exclude each other. ``not_in_format``: the texts
    without a format, by format; empty if there is no text. ``texts``: the distinct texts, or their salted hashes, with
    their counts; None if there are many. ``minimum`` and ``maximum``: the bounds of numbers, as text; None unless
    values may be shown. ``personal``: values that look like personal data, by kind; only a sample is looked at.
    ``fields``: the values by property name; ``missing``: the objects without this property. ``others``: the values of
    properties whose names are data. ``items``: the elements of arrays. ``cut``: nothing below is known.
    """

    types: Mapping[str, Tally] = field(default_factory=dict)
    not_in_format: Mapping[str, Tally] = field(default_factory=dict)
    texts: Mapping[str, int] | None = field(default_factory=dict)
    minimum: str | None = None
    maximum: str | None = None
    personal: Mapping[str, Tally] = field(default_factory=dict)
    fields: Mapping[str, JsonShape] = field(default_factory=dict)
    missing: Tally = NO_RECORD
    others: JsonShape | None = None
    items: JsonShape | None = None
    cut: bool = False

    @property
    def total(self) -> int:
        """The number of values."""
        return sum(each.count for each in self.types.values())

    def count(self, *types: str) -> int:
        """Return the number of values of these JSON types."""
        return sum(self.types.get(each, NO_RECORD).count for each in types)

    @staticmethod
    def of(entry: Mapping[str, Any], levels: int) -> JsonShape:
        """Return the shape in ``entry``; below ``levels`` further levels, nothing is known."""

        def below(name: str) -> JsonShape | None:
            return JsonShape.of(entry[name], levels - 1) if name in entry else None

        return JsonShape(
            types=_tallies(entry, "types"),
            not_in_format=_tallies(entry, "not_in_format"),
            texts=entry.get("texts", {}),
            minimum=entry.get("minimum"),
            maximum=entry.get("maximum"),
            personal=_tallies(entry, "personal"),
            fields={name: JsonShape.of(each, levels - 1) for name, each in entry.get("fields", {}).items()},
            missing=Tally.of(entry.get("missing")),
            others=below("others"),
            items=below("items"),
            cut=levels <= 0,
        )

    @property
    def type_names(self) -> tuple[str, ...]:
        """The types of the values, without ``integer`` if there are other numbers, too."""
        found = tuple(name for name in JSON_TYPES if self.count(name))
        return tuple(name for name in found if name != "integer") if "number" in found else found

    def at(self, path: str) -> JsonShape | None:
        """Return the shape of the property at a JSON pointer; None if its name is not kept."""
        shape: JsonShape | None = self
        for step in path.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            shape = shape.fields.get(name) if shape and not shape.cut else None
        return shape


@dataclass(frozen=True)
class Variant:
    """The objects in which a property has one text.

    ``properties``: how many of them have a property, and with which JSON types, by JSON pointer.
    """

    objects: int
    properties: Mapping[str, PropertyCount]

    def count(self, path: str) -> int:
        """Return the number of objects with the property."""
        return self.properties[path].count if path in self.properties else 0

    def parents(self, path: str) -> int:
        """Return the number of objects that may have the property."""
        parent = path.rpartition("/")[0]
        return self.count(parent) if parent else self.objects

    def has_parent(self, path: str) -> bool:
        """Return whether the property belongs to objects that are always objects."""
        parent = path.rpartition("/")[0]
        return not parent or (parent in self.properties and self.properties[parent].types == {"object"})


@dataclass(frozen=True)
class PropertyCount:
    """The number of objects with a property, and its JSON types; a number is only one."""

    count: int
    types: frozenset[str]


Variants: TypeAlias = Mapping[str, Mapping[str, Variant]]
"""By JSON pointer of a property that is a text in all objects, the objects by this text or its salted hash."""


@dataclass(frozen=True)
class EncodedSummary:
    """The keys, or the values, of a topic.

    ``nulls``: the records without one. ``not_in_format``: those that are not in a format; ``text`` is UTF-8 without
    control characters, ``registry`` Confluent's wire format. ``unreadable``: JSON beyond the limits of the reader.
    ``schema_ids``: records by the id that they would have in the wire format; None if there are many. ``variants``: the
    JSON objects by the properties that may be a discriminator.
    """

    nulls: Tally
    not_in_format: Mapping[str, Tally]
    unreadable: Tally
    schema_ids: Mapping[int, Tally] | None
    json: JsonShape
    variants: Variants = field(default_factory=dict)

    @staticmethod
    def of(entry: Mapping[str, Any]) -> EncodedSummary:
        """Return the summary in ``entry``."""
        ids = entry.get("schema_ids", {})
        return EncodedSummary(
            Tally.of(entry.get("null")),
            _tallies(entry, "not_in_format"),
            Tally.of(entry.get("unreadable")),
            None if ids is None else {int(id): Tally.of(each) for id, each in ids.items()},
            JsonShape.of(entry["json"], entry["json"]["max_depth"]),
            {
                path: {text: _variant(each) for text, each in by_text.items()}
                for path, by_text in entry.get("variants", {}).items()
            },
        )

    def missed(self, format: str) -> Tally:
        """Return the records that are not in ``format``."""
        return self.not_in_format.get(format, NO_RECORD)


@dataclass(frozen=True)
class TopicSummary:
    """The committed records that were read of one topic.

    ``headers``: the records without a header, by its name; None if there are many names. ``sizes``: the records by the
    smallest power of two that their size does not exceed; ``largest`` is the largest size, in bytes. ``misplaced``: the
    records with a key that a partitioner would put elsewhere. ``distinct_keys``: 64 is at least 64. ``newest``: the
    highest timestamp (ms).
    """

    records: int
    key: EncodedSummary
    value: EncodedSummary
    headers: Mapping[str, Tally] | None
    timestamp_types: Mapping[str, Tally]
    sizes: Mapping[int, Tally]
    largest: int
    misplaced: Mapping[str, Tally]
    partitions: Mapping[int, Tally]
    distinct_keys: int
    newest: int

    @staticmethod
    def from_json(text: str) -> TopicSummary:
        """Return the summary that ``TopicSummary.java`` wrote as ``text``."""
        entry = json.loads(text)
        headers = entry["headers"]
        missing = {name: Tally.of(each.get("missing")) for name, each in (headers or {}).items()}
        return TopicSummary(
            records=Tally.of(entry.get("records")).count,
            key=EncodedSummary.of(entry["key"]),
            value=EncodedSummary.of(entry["value"]),
            headers=None if headers is None else missing,
            timestamp_types=_tallies(entry, "timestamp_types"),
            sizes={int(size): Tally.of(each) for size, each in entry.get("sizes", {}).items()},
            largest=entry["largest"],
            misplaced=_tallies(entry, "misplaced"),
            partitions={int(number): Tally.of(each) for number, each in entry.get("partitions", {}).items()},
            distinct_keys=len(entry.get("key_hashes", ())),
            newest=entry["newest"],
        )

    def encoded(self, part: str) -> EncodedSummary:
        """Return the keys or the values: ``part`` is ``key`` or ``value``."""
        return {"key": self.key, "value": self.value}[part]


def _tallies(entry: Mapping[str, Any], name: str) -> dict[str, Tally]:
    return {each: Tally.of(tally) for each, tally in entry.get(name, {}).items()}


def _variant(entry: Mapping[str, Any]) -> Variant:
    found = {
        path: PropertyCount(count, frozenset(types) - ({"integer"} if "number" in types else set()))
        for path, (count, *types) in entry["properties"].items()
    }
    return Variant(entry["objects"], found)
