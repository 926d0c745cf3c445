"""Test the problems and settings of the case files, and the JSON Schema of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.cases import SPEC_CASES, Case, cases, problem_lines, setting_lines
from topicwarden.specs.editor_schema import spec_schema
from topicwarden.specs.yaml_nodes import read_documents

GOOD = [
    pytest.param(path, data, id=Path(path).name)
    for case in cases(SPEC_CASES, "good")
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


# Check the cases of ``cases/``: bad trees with their problems, and good trees with the settings that they declare.


@pytest.mark.parametrize("case", cases(SPEC_CASES, "bad"), ids=lambda case: case.name)
def test_bad_tree_has_these_problems(case: Case, tmp_path: Path) -> None:
    assert problem_lines(case.write(tmp_path)) == case.expected.splitlines()


@pytest.mark.parametrize("case", cases(SPEC_CASES, "good"), ids=lambda case: case.name)
def test_good_tree_declares_these_settings(case: Case, tmp_path: Path) -> None:
    tree = case.write(tmp_path)
    assert problem_lines(tree) == []
    assert list(setting_lines(tree)) == case.expected.splitlines()
