"""Test JSON against RFC 8259: nst/JSONTestSuite, encodings, and documents beyond the audit's limits."""

from __future__ import annotations

import json

import pytest

from tests.spark.codecs.judge import INVALID, UNDECIDABLE, VALID, Judge
from tests.spark.codecs.suites import suite

PLAIN = {"value": {"format": "json"}}
WITH_SCHEMA = {"value": {"format": "json", "schema": "{}"}}
CONTRACTS = pytest.mark.parametrize("contract", [PLAIN, WITH_SCHEMA], ids=["plain", "with a schema"])


@CONTRACTS
def test_public_suite(judge: Judge, contract: dict[str, object]) -> None:
    files = sorted(suite("json-parsing").glob("test_parsing/*.json"))
    verdicts = judge.values(contract, [file.read_bytes() for file in files])
    wrong = [
        f"{file.name}: {verdict}"
        for file, verdict in zip(files, verdicts, strict=True)
        if verdict.outcome != {"y": VALID, "n": INVALID}.get(file.name[0], verdict.outcome)
    ]
    assert len(files) > 300
    assert wrong == []


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
