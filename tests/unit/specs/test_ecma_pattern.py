"""The regular expressions of JSON Schemas that `check` accepts; tests/spark/codecs compares them with the reader."""

from __future__ import annotations

import pytest

from topicwarden.specs.record_schemas.ecma_pattern import pattern_error


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"^(?:(a)|b)\1$", r"^\1(a)$", r"^(?:(a)|(b))*\1$", r"(a\1)", r"(a)?\1", r"(a){0,2}\1", r"(?:(a))*\1"),
        *(r"(?!(a))\1", r"(?<x>a)*?\k<x>", r"(a)\2", r"(?:(a)|\1)"),
    ],
)
def test_references_to_groups_that_may_not_have_matched_are_refused(pattern: str) -> None:
    assert "may not have matched" in (pattern_error(pattern) or "")


@pytest.mark.parametrize(
    "pattern", [r"^(a)(b)\2\1$", r"^(?:(a|b)+\1){2}$", r"^(?=(a))(?:x|a\1)$", r"^(?<x>a)\k<x>$", r"(a)*b?", r"(a)\1?"]
)
def test_other_references_are_accepted(pattern: str) -> None:
    assert pattern_error(pattern) is None
