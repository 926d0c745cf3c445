"""Test which rules follow from what records have in common, how a contract is written, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import topicwarden
from tests.support.projects import project_of
from tests.support.summaries import CONTEXT, RECORDS, encoded, first, shape, summary
from topicwarden.audit.infer_topics import BrokenContract, broken_contract
from topicwarden.audit.inference.inferred_contents import differences, infer_contents
from topicwarden.audit.inference.inferred_rule import InferenceContext
from topicwarden.audit.inference.topic_summary import TopicSummary
from topicwarden.cli.infer import contract_lines
from topicwarden.model.contents import Contents
from topicwarden.specs.document_model import TopicDocument
from topicwarden.specs.validated_document import validate
from topicwarden.specs.write import explicit_contents
from topicwarden.specs.yaml_nodes import read_documents

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


def test_records_without_a_key_break_a_contract_that_requires_keys() -> None:
    required, optional = (Contents.model_validate({"key": {"required": each}}) for each in (True, False))
    keyless, late = summary(key=encoded(nulls=3)), BrokenContract("timestamp-late", "late", first(2))
    schema = BrokenContract("value-schema", "no JSON", first(1))
    assert broken_contract(required, keyless, [schema, late]) == (
        BrokenContract("null-key", "no key", keyless.key.nulls),
        schema,
    )
    assert broken_contract(required, summary(), [schema]) == broken_contract(optional, keyless, [schema]) == (schema,)


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


def test_the_yaml_has_the_evidence_beside_each_rule_and_is_valid() -> None:
    found = summary(headers={"trace-id": first(0)}, key=replace(summary().key, nulls=first(3, 1, 7)))
    text = "".join(f"{line}\n" for line in contract_lines("t", infer_contents(found, CONTEXT)))
    assert "    max_late: 1d  # none of 1,200 records is older than an earlier one by more\n" in text
    assert "    max_bytes: 1KiB  # the largest of 1,200 records has 300 bytes; above 256 bytes: 3 of" in text
    assert "    schema: schemas/t-value.json  # each rule has its evidence as $comment\n" in text
    assert "    required:  # in all 1,200 records\n      - trace-id\n" in text
    assert "  # key.required: not required: missing in 3 of 1,200, first at 1:7\n" in text
    documents, problems = read_documents(text.encode(), "t.yaml")
    assert not problems
    document, invalid = validate(documents[0], TopicDocument, ())
    assert document is not None
    assert not invalid


def test_a_name_with_a_line_break_stays_in_its_comment() -> None:
    found = summary(headers={"a\nkey: 1": first(9)})
    lines = list(contract_lines("t", infer_contents(found, replace(CONTEXT, whole=False))))
    assert all(line.startswith("# contents: ") for line in lines)
    assert any("a\\nkey: 1 is missing in 9 of 1,200" in line for line in lines)


def test_only_what_is_not_declared_is_shown() -> None:
    inferred = infer_contents(summary(headers={"trace-id": first(0), "source": first(0)}), CONTEXT)
    declared = Contents.model_validate(
        {
            "key": {"format": "bytes", "partition_function": "letters:first"},
            "value": {"format": "json", "schema": "schemas/a.json"},
            "headers": {"required": ["trace-id"]},
            "timestamps": {"type": "CreateTime", "max_ahead": "1h", "max_late": "7d"},
            "records": {"max_bytes": "1MiB"},
        }
    )
    schemas = {"value": json.dumps({"type": "object", "properties": {"id": {"type": "integer"}}})}
    found = [(each.path, each.rule) for each in differences(declared, schemas, inferred)]
    assert found == [
        ("key.required", "true"),
        ("headers.required", '["source"]'),
        ("partitions.max_skew", "2.0"),
        ("value.schema /", "required: [id]"),
    ]


def test_a_contract_that_says_as_much_has_no_difference() -> None:
    inferred = infer_contents(summary(), CONTEXT)
    declared = inferred.contents
    assert not list(differences(declared, {part: inferred.schema_text(part) for part in inferred.schemas}, inferred))


def test_a_suggestion_has_its_reason() -> None:
    inferred = infer_contents(summary(), replace(CONTEXT, whole=False))
    found = list(differences(Contents.model_validate({"key": {"format": "string"}}), {}, inferred))
    assert {each.doubt for each in found} == {"rests on the newest records only"}
    assert "key.format" not in {each.path for each in found}


TWO_STACKS = {"Pulumi.dev.yaml": "config: {}\n", "Pulumi.prod.yaml": "config: {}\n"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "--show-values"), "are options of --contents: add --contents"),
        (("import", "--contents", "--from", "topics.yaml"), "--contents reads the records of a cluster"),
        (("infer", "t"), "select one with --stack: dev, prod"),
        (("infer", "--stack", "dev", "--max-records", "0", "t"), "--max-records 0: expected 1 or more"),
        (("infer", "--stack", "dev", "--min-records", "0", "t"), "--min-records 0: expected 1 or more"),
        (("infer", "--stack", "dev", "--bootstrap-server", "a:9092", "t"), "remove it, or remove --stack"),
    ],
)
def test_a_command_that_cannot_run_exits_with_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    project = project_of(tmp_path, {})
    for name, text in TWO_STACKS.items():
        (project.root / "stacks" / name).write_text(text, encoding="utf-8")
    outcome = topicwarden(*arguments, cwd=project.root)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())
