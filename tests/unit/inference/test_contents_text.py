"""Test how an inferred contract is written."""

from __future__ import annotations

from dataclasses import replace

from tests.support.summaries import CONTEXT, first, summary
from topicwarden.audit.inference.inferred_contents import infer_contents
from topicwarden.cli.infer import contract_lines
from topicwarden.specs.document_model import TopicDocument
from topicwarden.specs.validated_document import validate
from topicwarden.specs.yaml_nodes import read_documents


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
