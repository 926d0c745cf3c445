"""Test which property decides which others an object has, and how a schema says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.summaries import CONTEXT, first, shape
from topicwarden.audit.inference.inferred_schema import json_schema, tightened
from topicwarden.audit.inference.topic_summary import JsonShape, PropertyCount, Variant, Variants

SHOWN = replace(CONTEXT, shows_values=True)
OBJECTS = 600


def variant(objects: int = OBJECTS, /, **properties: Any) -> Variant:
    """Return the objects with one text: a property has one type in all of them, or a count and types."""
    counts = {
        path.replace("__", "/"): PropertyCount(objects, frozenset({found}))
        if isinstance(found, str)
        else PropertyCount(found[0], frozenset(found[1:]))
        for path, found in properties.items()
    }
    return Variant(objects, {f"/{path}": each for path, each in counts.items()})


def optional(found: JsonShape, missing: int = OBJECTS) -> JsonShape:
    return replace(found, missing=first(missing))


KINDS: Variants = {
    "/kind": {
        "paid": variant(kind="string", sum="integer", amount="integer"),
        "sent": variant(kind="string", parcel="string", amount="string", note=(300, "string")),
    }
}
SHAPE = shape(
    {
        "kind": shape(string=2 * OBJECTS),
        "sum": optional(shape(integer=OBJECTS)),
        "parcel": optional(shape(string=OBJECTS)),
        "note": optional(shape(string=300), 900),
        "amount": shape(integer=OBJECTS, string=OBJECTS),
    }
)


def schema_of(variants: Variants = KINDS, found: JsonShape = SHAPE, shown: bool = True) -> dict[str, Any]:
    return json_schema(found, SHOWN if shown else CONTEXT, variants)


def test_a_text_that_decides_about_properties_becomes_one_of() -> None:
    schema = schema_of()
    assert schema["oneOf"] == [
        {
            "$comment": "600 values",
            "properties": {"kind": {"const": "paid"}, "amount": {"type": "integer"}},
            "required": ["kind", "sum"],
        },
        {
            "$comment": "600 values",
            "properties": {"kind": {"const": "sent"}, "amount": {"type": "string"}},
            "required": ["kind", "parcel"],
        },
    ]
    assert "oneOf of 2 texts: /kind decides about 3 other properties" in schema["$comment"]
    assert ("/", "oneOf: 2 variants  # " + schema["$comment"]) in list(tightened({}, schema))


@pytest.mark.parametrize(
    ("record", "valid"),
    [
        ({"kind": "paid", "sum": 1, "amount": 2}, True),
        ({"kind": "sent", "parcel": "p", "amount": "2", "note": "n"}, True),
        ({"kind": "sent", "sum": 1, "amount": "2"}, False),
        ({"kind": "paid", "sum": 1, "amount": "2"}, False),
        ({"kind": "lost", "sum": 1, "amount": 2}, False),
    ],
)
def test_records_meet_exactly_the_branch_of_their_text(record: Mapping[str, Any], valid: bool) -> None:
    assert Draft202012Validator(schema_of()).is_valid(record) is valid


def test_without_values_only_a_comment_names_the_property() -> None:
    schema = schema_of(shown=False)
    assert "paid" not in str(schema)
    assert "/kind decides about 3 other properties: --show-values writes its 2 texts as oneOf" in schema["$comment"]


def test_a_property_may_decide_what_is_in_an_object() -> None:
    escaped: dict[str, Any] = {"data__y~1z": "integer"}
    variants = {
        "/meta/type": {
            "a": variant(meta="object", meta__type="string", data="object", data__x="integer"),
            "b": variant(meta="object", meta__type="string", data="object", **escaped),
        }
    }
    fields = {"x": optional(shape(integer=OBJECTS)), "y/z": optional(shape(integer=OBJECTS))}
    found = shape({"meta": shape({"type": shape(string=2 * OBJECTS)}), "data": shape(fields)})
    first_branch, second = schema_of(variants, found)["oneOf"]
    assert first_branch["properties"]["data"] == {"required": ["x"]}
    assert second["properties"] == {
        "meta": {"properties": {"type": {"const": "b"}}, "required": ["type"]},
        "data": {"required": ["y/z"]},
    }


NOTHING = "no oneOf: no property with few texts decides about the other properties"


@pytest.mark.parametrize(
    "by_text",
    [
        {"a": variant(kind="string", sum=(540, "integer")), "b": variant(kind="string", sum=(541, "integer"))},
        {"a": variant(12, kind="string", sum="integer"), "b": variant(kind="string", sum=(560, "integer"))},
        {"a": variant(9, kind="string"), "b": variant(kind="string", sum="integer")},
        {"a": variant(kind="string", sum="integer")},
    ],
    ids=["chance", "few objects", "a rare text", "one text"],
)
def test_what_may_be_chance_is_no_discriminator(by_text: Mapping[str, Variant]) -> None:
    found = shape({"kind": shape(string=2 * OBJECTS), "sum": optional(shape(integer=OBJECTS), 130)})
    schema = schema_of({"/kind": by_text}, found)
    assert "oneOf" not in schema
    assert NOTHING in schema["$comment"]


def test_a_property_that_looks_personal_is_no_discriminator() -> None:
    fields = {**SHAPE.fields, "kind": replace(SHAPE.fields["kind"], personal={"e-mail address": first(1)})}
    assert NOTHING in schema_of(found=replace(SHAPE, fields=fields))["$comment"]


@pytest.mark.parametrize("other", [{}, {"id": shape(integer=1_198, string=2)}, {"id": shape(integer=600, number=600)}])
def test_objects_of_one_form_need_no_discriminator(other: Mapping[str, JsonShape]) -> None:
    assert "oneOf" not in schema_of({}, shape({"kind": shape(string=2 * OBJECTS), **other}))["$comment"]
