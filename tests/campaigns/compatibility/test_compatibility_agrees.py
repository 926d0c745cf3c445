"""Test that `topicwarden check --base` judges changed schemas as a real Schema Registry does, and reports the line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.campaigns.compatibility.verdicts import FORMATS, agreement, report
from tests.conftest import REPOSITORY
from tests.support.command import project
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.project import find_project
from topicwarden.operations.check import check_topics
from topicwarden.report.problems import FORMATS as REPORT_FORMATS
from topicwarden.report.problems import render
from topicwarden.specs.record_schemas import schema_compatibility
from topicwarden.specs.record_schemas.schema_compatibility import (
    Comparison,
    CompatibilityVerdict,
    ResolvedSchema,
    incompatibilities,
)
from topicwarden.toolchain import schema_checker

_PROJECT = find_project(REPOSITORY)
LIMIT_S = 5
"""The longest time of a comparison in a test whose comparison never ends."""


def test_a_real_registry_agrees_on_random_and_public_pairs(registry_url: str) -> None:
    count, seed = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "10")), int(os.environ.get("TOPICWARDEN_SEED", "1"))
    found = [(form, agreement(registry_url, _PROJECT, form, count, seed)) for form in FORMATS]
    assert not any(each.differences for _, each in found), report(found)
    assert all(each.judged >= count for _, each in found), report(found)


def test_a_schema_that_cannot_be_compared_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_compatibility, "_LIMIT_S", LIMIT_S)
    doubling = ", ".join(
        f'"a{n}": {{"allOf": [{{"$ref": "#/definitions/a{n + 1}"}}, {{"$ref": "#/definitions/a{n + 1}"}}]}}'
        for n in range(40)
    )
    bomb = f'{{"$ref": "#/definitions/a0", "definitions": {{{doubling}, "a40": {{"type": "string"}}}}}}'
    large = json.dumps(
        {"type": "record", "name": "R", "fields": [{"name": f"f{n}", "type": "int"} for n in range(9999)]}
    )
    deep = '{"type": "array", "items": ' * 5000 + '"int"' + "}" * 5000

    def verdict_of(form: str, new: str, old: str) -> Comparison:
        return Comparison(ResolvedSchema(form, new), (ResolvedSchema(form, old),), Compatibility.FULL)

    verdicts = incompatibilities(
        [
            verdict_of("json", bomb, bomb.replace("string", "integer")),
            verdict_of("avro", deep, deep),
            verdict_of("avro", " " * (17 << 20), '"int"'),
            verdict_of("json", '{"$schema": "https://json-schema.org/draft/2020-12/schema"}', "{}"),
            verdict_of("protobuf", "message", 'syntax = "proto3";'),
            verdict_of("avro", large, large),
            verdict_of("avro", '"int"', '"string"'),
        ],
        schema_checker(_PROJECT, print),
    )
    errors = [verdict.error or "" for verdict in verdicts]
    assert errors[0] == f"the comparison did not end within {LIMIT_S} s"
    assert "nest" in errors[1]
    assert errors[2] == "the schemas have 17,825,797 bytes; expected at most 16,777,216"
    assert errors[3] == "the checker supports drafts 4, 6 and 7 of JSON Schema, and $schema names another one"
    assert errors[4]
    assert verdicts[5] == CompatibilityVerdict()
    assert [(each.path, each.backward) for each in verdicts[6].incompatibilities] == [("/", True), ("/", False)]


def test_a_checker_that_ends_says_so() -> None:
    int_schema = ResolvedSchema("avro", '"int"')
    comparison = Comparison(int_schema, (int_schema,), Compatibility.FULL)
    (verdict,) = incompatibilities([comparison], [shutil.which("false") or "false"])
    assert verdict == CompatibilityVerdict(error="the checker ended with exit code 1")


def test_every_format_of_check_has_the_path_and_the_line(tmp_path: Path) -> None:
    old = '{\n "type": "record", "name": "R", "fields": [\n  {"name": "a", "type": "int"}\n ]\n}\n'
    files = {
        "topics/orders/orders.a.v1.yaml": "partitions: 3\nreplication_factor: 3\n",
        "subjects/a.yaml": "subjects:\n  a: {format: avro, schema: a.avsc, compatibility: BACKWARD_TRANSITIVE}\n",
        "subjects/a.avsc": old,
    }
    found = find_project(project(tmp_path, files))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run([*git, *arguments], cwd=found.root, check=True)
    new = old.replace('"int"}', '"int"},\n  {"name": "b", "type": "int"}')
    (found.root / "subjects/a.avsc").write_text(new, encoding="utf-8")
    checked = check_topics(found, base="HEAD")
    assert checked.compared == 1
    assert checked.notes == (
        "a: BACKWARD_TRANSITIVE was checked with HEAD only; all registered versions are compared by `topicwarden plan`",
    )
    (problem,) = (each for each in checked.problems if each.rule == "schema-compatibility")
    assert str(problem) == (
        "subjects/a.avsc:4:3: a is not BACKWARD_TRANSITIVE compatible with HEAD: /fields/1: the reader's field b is "
        "missing in the writer's schema, and has no default; readers with the new schema cannot read earlier records "
        "[schema-compatibility]"
    )
    for form in REPORT_FORMATS:
        text = render(checked, form)
        assert "subjects/a.avsc" in text and "/fields/1" in text, form


_NARROW_AND_WIDE = {
    "avro": ('"int"', '"long"'),
    "json": ('{"type": "integer"}', '{"type": "number"}'),
    "protobuf": (
        'syntax = "proto3"; message A { int32 a = 1; }',
        'syntax = "proto3"; message A { int32 a = 1; int32 b = 2; }',
    ),
}


def test_all_seven_levels_are_compared() -> None:
    assert _NARROW_AND_WIDE.keys() == {*FORMATS}
    comparisons = []
    for form, texts in _NARROW_AND_WIDE.items():
        old, new = (ResolvedSchema(form, text) for text in texts)
        comparisons += [Comparison(new, (new, old, new), level) for level in Compatibility]
    verdicts = incompatibilities(comparisons, schema_checker(_PROJECT, print))
    assert not any(verdict.error for verdict in verdicts)
    incompatible = [
        (comparison.new.format, comparison.level)
        for comparison, verdict in zip(comparisons, verdicts, strict=True)
        if verdict.incompatibilities
    ]
    transitive = (Compatibility.FORWARD_TRANSITIVE, Compatibility.FULL_TRANSITIVE)
    assert sorted(incompatible) == sorted((form, level) for form in FORMATS for level in transitive)


_OF_REFERENCE = {
    "avro": (
        '{"type": "record", "name": "A", "fields": [{"name": "c", "type": "a.C"}]}',
        '{"type": "record", "name": "a.C", "fields": [{"name": "x", "type": "int"}]}',
        '{"type": "record", "name": "a.C", "fields": [{"name": "y", "type": "string"}]}',
        "a.C",
    ),
    "json": (
        '{"type": "object", "properties": {"c": {"$ref": "c.json"}}}',
        '{"type": "integer"}',
        '{"type": "string"}',
        "c.json",
    ),
    "protobuf": (
        'syntax = "proto3"; import "c.proto"; message A { C c = 1; }',
        'syntax = "proto3"; message C { int32 x = 1; }',
        'syntax = "proto3"; message C { string x = 1; }',
        "c.proto",
    ),
}


def test_a_schema_is_compared_with_the_references_that_each_version_has() -> None:
    assert _OF_REFERENCE.keys() == {*FORMATS}
    comparisons = []
    for form, (text, old, new, name) in _OF_REFERENCE.items():
        earlier, later = (ResolvedSchema(form, text, {name: each}) for each in (old, new))
        comparisons += [
            Comparison(later, (earlier,), Compatibility.FULL),
            Comparison(later, (earlier, later), Compatibility.BACKWARD),
            Comparison(later, (earlier, later), Compatibility.BACKWARD_TRANSITIVE),
        ]
    verdicts = incompatibilities(comparisons, schema_checker(_PROJECT, print))
    import_error = "the checker of Protobuf compares no imports, and c.proto has changed"
    assert [verdict.error for verdict in verdicts] == [None] * 6 + [import_error, None, import_error]
    avro, json_schema = "/fields/0/type/fields/0", "/properties/c/[ref #/properties/c]"
    assert [[(each.path, each.backward) for each in verdict.incompatibilities] for verdict in verdicts[:6]] == [
        [(path, backward) for backward in directions]
        for path in (avro, json_schema)
        for directions in ((True, False), (), (True,))
    ]


def test_a_type_that_becomes_a_reference_is_compared() -> None:
    text, common, _, name = _OF_REFERENCE["avro"]
    own = text.replace(f'"{name}"', common)
    verdicts = incompatibilities(
        [
            Comparison(
                ResolvedSchema("avro", text, {name: common}), (ResolvedSchema("avro", own),), Compatibility.FULL
            ),
            Comparison(
                ResolvedSchema("avro", own), (ResolvedSchema("avro", text, {name: common}),), Compatibility.FULL
            ),
        ],
        schema_checker(_PROJECT, print),
    )
    assert verdicts == [CompatibilityVerdict()] * 2
