"""Test JSON Schema against the public suite, and cases that the suite lacks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.spark.codecs.json_schema_suite import DRAFTS, cases, remotes
from tests.spark.codecs.judge import INVALID, UNDECIDABLE, VALID, Judge

OPTIONAL = Path(__file__).parent / "optional.txt"


def differences(judge: Judge, draft: str, *, optional: bool) -> tuple[list[tuple[str, str]], int]:
    """Return each test whose verdict differs from the suite, with that verdict, and the number of tests."""
    found, count = [], 0
    for case in cases(draft, optional=optional):
        verdicts = judge.json_schema(case.schema, remotes(draft), [value for _, value, _ in case.tests])
        for number, (name, _, valid) in enumerate(case.tests):
            seen = verdicts if isinstance(verdicts, str) else verdicts[number].outcome
            count += 1
            if seen != (VALID if valid else INVALID):
                found.append((f"{case.name}: {name}", seen))
    return found, count


@pytest.mark.parametrize("draft", DRAFTS)
def test_every_required_test_of_the_suite(judge: Judge, draft: str) -> None:
    found, count = differences(judge, draft, optional=False)
    assert count > 600
    assert found == []


@pytest.mark.parametrize("draft", DRAFTS)
def test_optional_tests_differ_only_where_the_list_says_why(judge: Judge, draft: str) -> None:
    lines = (line.partition(" -- ")[0].split() for line in OPTIONAL.read_text(encoding="utf-8").splitlines())
    listed = {file: int(count) for of, file, count in lines if of == draft}
    found, _ = differences(judge, draft, optional=True)
    assert {seen for _, seen in found} <= {VALID}
    assert Counter(name.partition(":")[0] for name, _ in found) == listed


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"multipleOf": 2}, ["9007199254740994", "1e30", "-4"], ["9007199254740993", "9007199254740993.0"]),
        ({"multipleOf": 9007199254740993}, ["9007199254740993"], ["9007199254740992"]),
        ({"multipleOf": 0.1}, ["0.3", "1.1", "3"], ["0.35", "1e-400"]),
        ({"enum": [{"a": 1}, [[1.0]]]}, ['{"a": 1.0}', '{"a": 1e0}', "[[1]]"], ['{"a": true}', "[[true]]"]),
        ({"enum": [0]}, ["0", "-0", "0.0"], ["false", '"0"', "1e-400"]),
        ({"uniqueItems": True}, ["[1, true, {}, []]", '["1", 1]'], ["[1, 1.0]", '[{"a": 10}, {"a": 1e1}]']),
        ({"maximum": 9007199254740993}, ["9007199254740993"], ["9007199254740994", "9007199254740993.5"]),
    ],
)
def test_numbers_are_exact(
    judge: Judge, draft: str, schema: dict[str, object], valid: list[str], invalid: list[str]
) -> None:
    text = json.dumps({"$schema": DRAFTS[draft], **schema})
    verdicts = judge.json_schema(text, {}, [value.encode() for value in valid + invalid])
    assert [one.outcome for one in verdicts if not isinstance(one, str)] == [VALID] * len(valid) + [INVALID] * len(
        invalid
    )


@pytest.mark.parametrize("draft", [draft for draft in DRAFTS if draft != "draft4"])
def test_const_is_exact(judge: Judge, draft: str) -> None:
    text = json.dumps({"$schema": DRAFTS[draft], "const": {"a": [1]}})
    verdicts = judge.json_schema(text, {}, [b'{"a": [1.0]}', b'{"a": [true]}', b'{"a": 1}'])
    assert [one.outcome for one in verdicts if not isinstance(one, str)] == [VALID, INVALID, INVALID]


@pytest.mark.parametrize(
    ("draft", "empty", "two"),
    [("draft6", INVALID, VALID), ("draft7", INVALID, VALID), ("draft2019-09", VALID, INVALID)],
)
def test_min_contains_is_a_keyword_from_2019_09_on(judge: Judge, draft: str, empty: str, two: str) -> None:
    of_none = json.dumps({"$schema": DRAFTS[draft], "contains": {"const": 1}, "minContains": 0})
    of_three = json.dumps({"$schema": DRAFTS[draft], "contains": {"const": 1}, "minContains": 3})
    first, second = judge.json_schema(of_none, {}, [b"[]"]), judge.json_schema(of_three, {}, [b"[1, 1]"])
    assert not isinstance(first, str)
    assert not isinstance(second, str)
    assert (first[0].outcome, second[0].outcome) == (empty, two)


@pytest.mark.parametrize(
    ("pattern", "matches", "others"),
    [
        ("^a$", ["a"], ["a\n", "ba"]),
        (r"^\s$", ["\ufeff", "\u2028", "\u00a0", "\u1680", "\u000b"], ["\u0085", "\u200b", "\u180e"]),
        (r"^\S$", ["\u0085", "x"], ["\u00a0", "\ufeff"]),
        (r"^[^\s]$", ["\u0085"], ["\u2029"]),
        (r"^[\S]$", ["\u0085"], ["\u2029"]),
        ("^.$", ["\u0085", "\U0001f600", "x"], ["\n", "\r", "\u2028"]),
        (r"^\w+$", ["az_09"], ["é", "ª"]),
        (r"^\d$", ["5"], ["٥"]),
        (r"\bé", ["aé"], ["é", " é"]),
        ("^[a[b]$", ["a", "[", "b"], ["]", "a]"]),
        ("^[a&&b]$", ["a", "&", "b"], ["ab"]),
        ("^[^]$", ["\n"], [""]),
        ("[]", [], ["", "a"]),
        (r"^\p{Letter}\p{Lu}\p{Script=Greek}$", ["aAα"], ["aaα", "aAa"]),
        (r"^\u{1F600}\uD83D\uDE00$", ["\U0001f600\U0001f600"], ["\U0001f600"]),
        (r"^(?<year>\d{4})-\k<year>$", ["2024-2024"], ["2024-2025"]),
        (r"^\d{3}\-\d$", ["123-4"], ["1234"]),
        ("^a(?=b)", ["ab"], ["ac"]),
        (r"^\cJ\x41\0$", ["\nA\0"], ["A"]),
        ("^{a}]$", ["{a}]"], ["a"]),
    ],
)
def test_patterns_are_of_ecma_262(judge: Judge, pattern: str, matches: list[str], others: list[str]) -> None:
    values = [json.dumps(text).encode() for text in matches + others]
    verdicts = judge.json_schema(json.dumps({"pattern": pattern}), {}, values)
    assert not isinstance(verdicts, str), verdicts
    assert [one.outcome for one in verdicts] == [VALID] * len(matches) + [INVALID] * len(others)


@pytest.mark.parametrize("pattern", ["(", "a++", "*a", "[b-a]", "(?i)a", "(?>a)", r"\Qa\E", r"\p{Nonsense}", "(?<=a)b"])
def test_an_unsupported_pattern_makes_records_undecidable(judge: Judge, pattern: str) -> None:
    contract = {"value": {"format": "json", "schema": json.dumps({"pattern": pattern})}}
    (verdict,) = judge.values(contract, [b'"a"'])
    assert verdict.outcome == UNDECIDABLE
    assert "the schema cannot be used" in verdict.reason


@pytest.mark.parametrize(("pattern", "text"), [(r"^(a+)+\1b$", "a" * 40), ("^(?:ab|a|b)*c", "ab" * 100_000)])
def test_an_endless_pattern_match_is_stopped(judge: Judge, pattern: str, text: str) -> None:
    contract = {"value": {"format": "json", "schema": json.dumps({"pattern": pattern})}}
    verdicts = judge.values(contract, [json.dumps(text).encode(), b'"a"'])
    assert verdicts[0].outcome == UNDECIDABLE
    assert verdicts[1].outcome != UNDECIDABLE


def test_nothing_outside_of_the_schema_is_read(judge: Judge) -> None:
    for uri in ("http://localhost:1/a.json", "classpath:draft-07/schema", "file:///etc/passwd"):
        assert isinstance(judge.json_schema(json.dumps({"$ref": uri}), {}, []), str)


@pytest.mark.parametrize("draft", DRAFTS)
def test_format_is_an_annotation_in_every_draft(judge: Judge, draft: str) -> None:
    text = json.dumps({"$schema": DRAFTS[draft], "format": "date-time"})
    assert [one.outcome for one in judge.json_schema(text, {}, [b'"x"']) if not isinstance(one, str)] == [VALID]
