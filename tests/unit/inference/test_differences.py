"""Test what is shown of a declared topic."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.support.summaries import CONTEXT, first, summary
from topicwarden.audit.inference.differences import differences
from topicwarden.audit.inference.inferred_contents import infer_contents
from topicwarden.model.contents import Contents


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
