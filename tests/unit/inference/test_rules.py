"""Test which rules follow from what records have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.summaries import CONTEXT, RECORDS, encoded, first, shape, summary
from topicwarden.audit.inference.inferred_contents import infer_contents
from topicwarden.audit.inference.inferred_rule import InferenceContext
from topicwarden.audit.inference.topic_summary import TopicSummary
from topicwarden.specs.write import explicit_contents

HOUR, DAY = 3_600_000, 86_400_000


def contents(found: TopicSummary, context: InferenceContext = CONTEXT) -> dict[str, Any]:
    return explicit_contents(infer_contents(found, context).contents)


def evidence(found: TopicSummary, path: str, context: InferenceContext = CONTEXT) -> str:
    inferred = infer_contents(found, context)
    return next(rule.evidence for rule in inferred.rules if ".".join(rule.path) == path)


def test_what_all_records_meet_is_a_rule() -> None:
    assert contents(summary(headers={"trace-id": first(0), "rare": first(3, 2, 9)})) == {
        "key": {"format": "string", "required": True, "partitioner": "murmur2"},
        "value": {"format": "json"},
        "headers": {"required": ("trace-id",)},
        "timestamps": {"type": "CreateTime", "max_ahead": HOUR, "max_late": DAY},
        "records": {"max_bytes": 1_024},
        "partitions": {"max_skew": 2.0},
    }


@pytest.mark.parametrize(
    ("missed", "expected"),
    [
        ({"uuid": 0}, "uuid"),
        ({}, "string"),
        ({"text": 9, "int": 0}, "int"),
        ({"text": 9, "string": 9, "long": 0}, "long"),
        ({"text": 9}, "string"),
        ({"text": 9, "string": 9}, None),
        ({"int": 0}, "string"),  # four printable letters are text
    ],
)
def test_the_format_of_keys_is_the_strictest_that_all_have(missed: dict[str, Any], expected: str | None) -> None:
    assert contents(summary(key=encoded(**missed))).get("key", {}).get("format") == expected


def test_numbers_as_text_are_no_json() -> None:
    assert contents(summary(value=encoded(shape(integer=RECORDS))))["value"] == {"format": "string"}


def test_the_next_stricter_rule_has_the_count_of_its_exceptions_and_the_first() -> None:
    missing = summary(
        key=encoded(nulls=3, uuid=2),
        headers={"trace-id": first(0), "rare": first(3, 2, 9)},
        misplaced={"murmur2": first(5, 1, 8), "crc32": first(900), "fnv1a": first(900)},
    )
    assert evidence(missing, "key.required") == "not required: missing in 3 of 1,200, first at 1:7"
    assert evidence(missing, "key.format") == "all 1,197 keys; not uuid: 2 of 1,197, first at 2:5512"
    assert evidence(missing, "key.partitioner") == "not murmur2: 5 of 1,197, first at 1:8 is elsewhere"
    assert "rare is missing in 3 of 1,200, first at 2:9" in evidence(missing, "headers.required")
    assert evidence(missing, "records.max_bytes") == (
        "the largest of 1,200 records has 300 bytes; above 256 bytes: 3 of 1,200, first at 1:40"
    )
    late = replace(CONTEXT, late="at least 2 of 1,200, first at 0:3")
    assert evidence(missing, "timestamps.max_late", late) == "not 1d: at least 2 of 1,200, first at 0:3"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"records_needed": 1_201}, "rests on fewer than 1,201 records"),
        ({"whole": False}, "rests on the newest records only"),
        ({"producers": 1}, "rests on the records of one producer"),
    ],
)
def test_what_rests_on_too_little_is_only_suggested(changes: dict[str, Any], reason: str) -> None:
    inferred = infer_contents(summary(), replace(CONTEXT, **changes))
    assert explicit_contents(inferred.contents) == {}
    assert not inferred.schemas
    assert inferred.all_schemas.keys() == {"value"}
    assert any(line.startswith(f"key.required: true -- {reason}") for line in inferred.suggestions)


def test_records_in_the_wire_format_refer_to_their_subject() -> None:
    found = summary(value=replace(encoded(registry=0, text=9, string=9), schema_ids={7: first(800), 9: first(400)}))
    known = replace(CONTEXT, registered={"value": {7: "avro", 9: "avro"}})
    assert contents(found, known)["value"] == {"format": "avro", "registry": True}
    partly = replace(CONTEXT, registered={"value": {7: "avro"}})
    assert "value" not in contents(found, partly)


def test_a_registry_that_does_not_answer_stops_no_other_rule() -> None:
    found = summary(value=replace(encoded(registry=0, text=9, string=9), schema_ids={7: first(1200)}))
    inferred = infer_contents(found, replace(CONTEXT, registered={"value": "the registry answered 503"}))
    assert "value" not in explicit_contents(inferred.contents)
    assert explicit_contents(inferred.contents)["key"]
    assert any("look like the wire format, but the registry answered 503" in line for line in inferred.suggestions)


def test_timestamps_far_ahead_are_no_rule() -> None:
    assert contents(summary(newest=CONTEXT.read_at + 2 * HOUR))["timestamps"]["max_ahead"] == DAY
    assert "max_ahead" not in contents(summary(newest=CONTEXT.read_at + 2 * DAY))["timestamps"]


def test_fields_that_look_personal_are_suggested_and_never_declared() -> None:
    mail = replace(shape(string=RECORDS), personal={"e-mail address": first(150)})
    value = encoded(shape({"contact": shape({"mail": mail})}))
    inferred = infer_contents(summary(value=value), CONTEXT)
    assert inferred.contents.personal == ()
    assert any('personal: ["contact.mail"]' in line for line in inferred.suggestions)


def test_few_distinct_keys_show_no_partitioner() -> None:
    assert "partitioner" not in contents(summary(distinct_keys=5))["key"]


def test_only_rare_sizes_and_near_formats_are_named() -> None:
    common = summary(sizes={512: first(RECORDS)}, key=encoded(int=9))
    assert evidence(common, "records.max_bytes") == "the largest of 1,200 records has 300 bytes"
    assert evidence(common, "key.format") == "all 1,200 keys"
