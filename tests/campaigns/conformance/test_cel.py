"""Test expressions against CEL's public conformance suite, over records of each format."""

from __future__ import annotations

import io
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import avro.io
import avro.schema
import pytest

from tests.campaigns.conformance.library_versions import Selection, night_only
from tests.campaigns.conformance.suites import FILES, CelSuite, Expression, NoLiteral, holds, plain
from tests.spark.codecs.judge import INVALID, UNDECIDABLE, VALID, Judge, Verdict

LIBRARY: Final = {
    "conversions/int/double_int_min_range": "accepts the smallest integer",
    "conversions/string/bytes_invalid": "replaces bytes that are not UTF-8",
    "conversions/type/dyn_no_denotation": "has a type dyn",
    "fields/qualified_identifier_resolution/map_key_float": "accepts the key",
    "fields/qualified_identifier_resolution/map_key_null": "accepts the key",
    "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous": "takes the last of equal keys",
    "timestamps/timestamp_range/sub_time_duration_over": "has longer durations",
    "timestamps/timestamp_range/sub_time_duration_under": "has longer durations",
}
"""What the library (cel-java) evaluates, and the suite expects to be an error."""
UNUSUAL: Final = re.compile(r"triple_(single|double)_quoted_unescaped_punctuation|field_mask/to_json")
"""Tests whose expected value Python's readers of the suite change: an escaped question mark, a FieldMask in JSON."""


@pytest.fixture(scope="module")
def cel_suite(tmp_path_factory: pytest.TempPathFactory) -> CelSuite:
    return CelSuite(tmp_path_factory.mktemp("cel"))


def judged(judge: Judge, contract: Mapping[str, Any], expression: str, result: Any | None, data: bytes) -> Verdict:
    rule = {"id": "rule", "require": holds(expression, result)}
    (verdict,) = judge.values({"value": contract, "expressions": [rule]}, [data])
    return verdict


def is_wrong(verdict: Verdict, result: Any | None) -> bool:
    """Return whether a verdict contradicts the suite. Undecidable is no verdict."""
    return verdict.outcome == (VALID if result is None else INVALID)


@night_only("comparisons", "conversions", "macros", "timestamps")
@pytest.mark.parametrize("file", FILES)
def test_the_language(judge: Judge, cel_suite: CelSuite, selection: Selection, file: str) -> None:
    for case in selection.of(list(cel_suite.cases(file)), FILES.index(file)):
        if case.bindings or "TestAllTypes" in case.expression or UNUSUAL.search(case.name):
            continue
        try:
            verdict = judged(judge, {"format": "json"}, case.expression, case.result, b"{}")
        except NoLiteral:
            continue
        assert is_wrong(verdict, case.result) == (case.name in LIBRARY), (case, verdict)


@night_only("proto3")
@pytest.mark.parametrize("version", ["proto2", "proto3"])
def test_protobuf_messages(judge: Judge, cel_suite: CelSuite, selection: Selection, version: str) -> None:
    contract = {"format": "protobuf", "descriptors": b64encode(cel_suite.descriptors(version)).decode()}
    count, undecided = 0, []
    for case in selection.of(list(cel_suite.message_cases(version)), int(version[-1])):
        if UNUSUAL.search(case.name):
            continue
        try:
            verdict = judged(judge, {**contract, "message": case.kind}, case.expression, case.result, case.data)
        except NoLiteral:  # the result is a message
            continue
        count += 1
        assert not is_wrong(verdict, case.result), (case, verdict)
        if case.result is not None and verdict.outcome == UNDECIDABLE:
            undecided.append(case.name.partition("/")[2])
    assert count > 75 // selection.share
    # The library has enums as numbers only, and no list of wrappers; the last test is over two messages.
    known = {f"strong_{version}/field_type", "set_null/repeated_field_wrapper_null_pruned", "repeat/select"}
    assert {*undecided} <= known, undecided


def _json(value: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    return {"format": "json"}, json.dumps(value).encode()


def _avro(value: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
    fields = [{"name": name, "type": _avro_type(one)} for name, one in value.items()]
    schema = {"type": "record", "name": "Bindings", "fields": fields}
    out = io.BytesIO()
    text = json.dumps(schema)
    avro.io.DatumWriter(avro.schema.parse(text)).write(value, avro.io.BinaryEncoder(out))
    return {"format": "avro", "schema": text}, out.getvalue()


def _avro_type(value: Any) -> Any:
    if isinstance(value, list):
        return {"type": "array", "items": _union(value)}
    if isinstance(value, dict):
        return {"type": "map", "values": _union(value.values())}
    return {type(None): "null", bool: "boolean", int: "long", float: "double", str: "string"}[type(value)]


def _union(values: Any) -> list[Any]:
    return [json.loads(one) for one in sorted({json.dumps(_avro_type(value)) for value in values})] or ["null"]


def _over_fields(case: Expression) -> str:
    """Return the expression with each variable as a field of the record's value."""
    names = "|".join(map(re.escape, case.bindings))
    return re.sub(rf"(?<![\w.'\"])({names})\b", r"value.\1", case.expression)


def _bound_cases(suite: CelSuite) -> Iterator[tuple[Expression, dict[str, Any]]]:
    for case in (case for file in FILES for case in suite.cases(file)):
        if case.bindings and not case.container and all(map(str.isidentifier, case.bindings)):
            try:
                yield case, {name: plain(value) for name, value in case.bindings.items()}
            except NoLiteral:
                continue


@night_only("_avro")
@pytest.mark.parametrize("written", [_json, _avro])
def test_variables_as_fields(
    judge: Judge,
    cel_suite: CelSuite,
    selection: Selection,
    written: Callable[[Mapping[str, Any]], tuple[dict[str, Any], bytes]],
) -> None:
    count = 0
    for case, value in selection.of(list(_bound_cases(cel_suite))):
        contract, data = written(value)
        verdict = judged(judge, contract, _over_fields(case), case.result, data)
        assert not is_wrong(verdict, case.result), (case, verdict)
        count += verdict.outcome != UNDECIDABLE
    assert count > 12 // selection.share
