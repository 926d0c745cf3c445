"""Test which JSON Schema follows from the structure of values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.summaries import CONTEXT, first, shape
from topicwarden.audit.inference.inferred_schema import json_schema, tightened
from topicwarden.audit.inference.topic_summary import JsonShape

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
