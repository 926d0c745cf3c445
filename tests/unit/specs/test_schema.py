from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.cases import cases
from tests.unit.specs.lines import CASES
from topicwarden.specs.editor_schema import spec_schema
from topicwarden.specs.yaml_nodes import read_documents

GOOD = [
    pytest.param(path, data, id=Path(path).name)
    for case in cases(CASES, "good")
    for path, data in sorted(case.data().items())
    if path.endswith(".yaml")
]


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(spec_schema())
    return Draft202012Validator(spec_schema())


@pytest.mark.parametrize(("path", "data"), GOOD)
def test_good_examples_meet_the_schema(validator: Draft202012Validator, path: str, data: bytes) -> None:
    documents, _ = read_documents(data, path)
    assert [error.message for document in documents for error in validator.iter_errors(document.value)] == []


@pytest.mark.parametrize(
    "document",
    [
        {"ownr": "x"},
        {"partitions": "3"},
        {"topic": "a b"},
        {"config": {"retenton.ms": 1}},
        {"config": {"retention.ms": "7 days"}},
        {"contents": {"key": {"format": "jsn"}}},
        {"stacks": {"dev": {"topic": "x"}}},
        {"allow": ["destroy"]},
    ],
    ids=str,
)
def test_bad_documents_do_not(validator: Draft202012Validator, document: dict[str, Any]) -> None:
    assert not validator.is_valid(document)


def test_editors_show_kafkas_documentation() -> None:
    text = spec_schema()["properties"]["config"]["properties"]["retention.ms"]["description"]
    assert "maximum time" in text
    assert "<" not in text
