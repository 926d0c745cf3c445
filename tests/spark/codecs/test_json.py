"""Test JSON and JSON Schema: encodings, limits, and cases that the public suites lack."""

from __future__ import annotations

import json

import pytest

from tests.campaigns.conformance.suites import DRAFTS
from tests.spark.codecs.judge import INVALID, UNDECIDABLE, VALID, Judge

# JSON against RFC 8259: encodings, and documents beyond the audit's limits.

PLAIN = {"value": {"format": "json"}}
WITH_SCHEMA = {"value": {"format": "json", "schema": "{}"}}
CONTRACTS = pytest.mark.parametrize("contract", [PLAIN, WITH_SCHEMA], ids=["plain", "with a schema"])


@CONTRACTS
@pytest.mark.parametrize(
    "value",
    [
        b'"\xc0\x80"',
        b'"\xe0\x80\x80"',
        b'"\xf4\x90\x80\x80"',
        b'"\xed\xa0\x80"',
        *('{"a": 1}'.encode(encoding) for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16")),
        b"\xef\xbb\xbf{}",
        "1".encode("utf-16-be"),
        "1".encode("utf-16-le"),
    ],
)
def test_only_utf_8_without_a_byte_order_mark_is_json(judge: Judge, contract: dict[str, object], value: bytes) -> None:
    (verdict,) = judge.values(contract, [value])
    assert verdict.outcome == INVALID, verdict


BEYOND = {
    "depth": b"[" * 1_001 + b"]" * 1_001,
    "digits": b"1" * 1_001,
    "fraction": b"0." + b"1" * 1_001,
    "exponent": b"1e99999999999",
    "small exponent": b"1e-99999999999",
    "memory": b"1e999999999",
}


@pytest.mark.parametrize("name", BEYOND)
def test_valid_json_beyond_the_limits_is_undecidable_for_a_schema(judge: Judge, name: str) -> None:
    (plain,) = judge.values(PLAIN, [BEYOND[name]])
    (judged,) = judge.values({"value": {"format": "json", "schema": '{"type": "string"}'}}, [BEYOND[name]])
    assert plain.outcome == VALID
    assert judged.outcome == UNDECIDABLE
    assert judged.reason.startswith("JSON beyond the limits of the audit: ")


@CONTRACTS
@pytest.mark.parametrize("value", [b"[" * 100_000, b"1" * 1_001 + b"x", b"[" * 1_001 + b"]" * 1_000])
def test_malformed_json_beyond_the_limits_is_invalid(judge: Judge, contract: dict[str, object], value: bytes) -> None:
    (verdict,) = judge.values(contract, [value])
    assert verdict.outcome == INVALID


def test_long_names_and_texts_are_judged(judge: Judge) -> None:
    long = json.dumps({"n" * 60_000: "t" * 1_000_000}).encode()
    assert judge.values({"value": {"format": "json", "schema": '{"maxProperties": 1}'}}, [long])[0].outcome == VALID


def test_a_schema_that_recurs_into_a_deep_value_leaves_the_jvm_alive(judge: Judge) -> None:
    schema = json.dumps(
        {
            "properties": {"a": {"$ref": "#"}},
            "unevaluatedProperties": False,
            "anyOf": [{"$ref": "#/$defs/any"}],
            "$defs": {"any": True},
        }
    )
    deep = b'{"a":' * 990 + b"{}" + b"}" * 990
    contract = {"value": {"format": "json", "schema": schema}}
    verdicts = judge.values(contract, [deep, b"{}", b'{"b": 1}', deep, b'{"a": {"b": 1}}'])
    assert [verdict.outcome for verdict in verdicts[1:3]] == [VALID, INVALID]
    assert verdicts[4].outcome == INVALID
    assert {verdicts[0].outcome, verdicts[3].outcome} <= {VALID, UNDECIDABLE}


def test_an_expression_is_undecidable_when_the_value_is_beyond_the_limits(judge: Judge) -> None:
    contract = {"value": {"format": "json"}, "expressions": [{"id": "small", "require": "value.a < 1.0"}]}
    faults = judge.faults(contract, b'{"a": ' + b"[" * 1_001 + b"]" * 1_001 + b"}")
    assert [(fault["rule"], fault["undecided"]) for fault in faults] == [
        ("value-schema", True),
        ("expression:small", True),
    ]


@pytest.mark.parametrize("number", ["1e-400", "-1e-400", "1e400", str(2**64 + 1)])
def test_a_number_that_cel_cannot_hold_is_not_another_number(judge: Judge, number: str) -> None:
    expressions = [{"id": "known", "require": "value > 0.0 || value <= 0.0"}]
    faults = judge.faults({"value": {"format": "json"}, "expressions": expressions}, number.encode())
    assert [(fault["rule"], fault["undecided"]) for fault in faults] == [("expression:known", True)]


def test_numbers_that_cel_holds_are_compared(judge: Judge) -> None:
    expressions = [{"id": "same", "require": "value.a == 1.5 && value.b == 9007199254740993 && value.c > 0.0"}]
    contract = {"value": {"format": "json"}, "expressions": expressions}
    assert judge.faults(contract, b'{"a": 1.50, "b": 9007199254740993, "c": 1e-300}') == []


# JSON Schema: cases that the public suite lacks.


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
