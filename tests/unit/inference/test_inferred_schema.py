"""Test which JSON Schema follows from the structure of values, and which field tells apart kinds of values."""

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


def property_of(found: JsonShape, shown: bool = False) -> dict[str, Any]:
    schema: dict[str, Any] = json_schema(shape({"a": found}), SHOWN if shown else CONTEXT)["properties"]["a"]
    return schema


def test_properties_of_all_objects_are_required() -> None:
    schema = json_schema(
        shape({"a": shape(integer=1_200), "b": replace(shape(boolean=1_197), missing=first(3, 2, 9))}), CONTEXT
    )
    assert schema["required"] == ["a"]
    assert schema["properties"]["b"] == {
        "$comment": "1,197 values; not required: missing in 3 of 1,200, first at 2:9",
        "type": "boolean",
    }


def test_numbers_are_integers_only_if_all_are() -> None:
    mixed = replace(shape(), types={"integer": first(1_195), "number": first(5, 0, 8)})
    assert property_of(mixed) == {
        "$comment": "1,200 values; not integer: 5 of 1,200, first at 0:8",
        "type": "number",
    }
    assert property_of(shape(integer=1_100, null=100))["type"] == ["null", "integer"]


def test_a_format_of_all_texts_is_a_rule_and_its_exceptions_are_named() -> None:
    all_dates = shape(string=1_200)
    all_dates = replace(all_dates, not_in_format={**all_dates.not_in_format, "date": first(0)})
    assert property_of(all_dates)["format"] == "date"
    some = replace(all_dates, not_in_format={**all_dates.not_in_format, "date": first(2, 1, 3)})
    assert property_of(some) == {"$comment": "1,200 values; not date: 2 of 1,200, first at 1:3", "type": "string"}


def test_values_are_written_only_on_request_and_never_of_personal_fields() -> None:
    texts = replace(shape(string=1_200), texts={"open": 1_000, "sent": 200})
    assert property_of(texts, shown=True)["enum"] == ["open", "sent"]
    assert "open" not in str(property_of(texts))
    assert "2 texts only" in property_of(texts)["$comment"]
    personal = replace(texts, personal={"name of the field": first(1)})
    assert "open" not in str(property_of(personal, shown=True))
    rare = replace(texts, texts={"open": 1_195, "sent": 5})
    assert "enum" not in property_of(rare, shown=True)
    numbers = replace(shape(integer=1_200), minimum="3", maximum="99")
    assert property_of(numbers, shown=True)["minimum"] == 0
    assert "99" not in str(property_of(numbers))


def test_a_nullable_enumeration_accepts_null() -> None:
    texts = replace(shape(string=1_100, null=100), texts={"open": 1_000, "sent": 100})
    assert property_of(texts, shown=True)["enum"] == ["open", "sent", None]


def test_names_that_are_data_become_additional_properties() -> None:
    assert property_of(replace(shape(), others=shape(integer=5_000)))["additionalProperties"]["type"] == "integer"


def test_names_that_are_data_do_not_restrict_new_names_beside_others() -> None:
    found = property_of(replace(shape(object=5_000), fields={"id": shape()}, others=shape(integer=5_000)))
    assert "additionalProperties" not in found and "names that are data are not listed" in found["$comment"]


def test_what_few_values_show_is_no_rule() -> None:
    assert property_of(shape(integer=12)) == {"$comment": "no rule: integer in 12 values"}


def test_there_is_no_rule_below_the_deepest_level() -> None:
    assert set(property_of(replace(shape(), cut=True))) == {"$comment", "type"}


def test_a_declared_schema_is_compared_rule_by_rule() -> None:
    inferred = json_schema(shape({"a/b": shape(integer=1_200), "c": shape(boolean=1_200)}), CONTEXT)
    declared = {"type": "object", "properties": {"a/b": {}}, "required": ["c"]}
    assert dict(tightened(declared, inferred)) == {
        "/": "required: [a/b]  # 1,200 values",
        "/a~1b": "type: integer  # 1,200 values",
        "/c": "type: boolean  # not declared; 1,200 values",
    }
    assert not list(tightened({"$ref": "#/$defs/x"}, inferred))
    assert not list(tightened(inferred, inferred))


def test_a_field_that_is_always_null_and_a_single_text_show_no_rule_for_later_values() -> None:
    assert property_of(shape(null=1_200)) == {"$comment": "no rule: null in 1,200 values"}
    assert "enum" not in property_of(replace(shape(string=1_200), texts={"open": 1_200}), shown=True)


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
