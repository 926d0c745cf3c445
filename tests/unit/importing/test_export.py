"""Test that an export is valid, and that an import reads back what it wrote."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.spark.codecs.suites import DEFAULTS, VARIABLE, suite
from tests.support.command import Outcome, project, topicwarden
from topicwarden.model.contents import Contents
from topicwarden.model.topic import Topic
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve
from topicwarden.specs.schema_files import schema_path

JSON_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "string", "minLength": 1}, "lines": {"$ref": "#/$defs/lines"}},
    "$defs": {"lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}, "line": {"type": "object"}},
}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {"$ref": "#"}}}
AVRO = {"type": "record", "name": "Paid", "fields": [{"name": "amount", "type": "long"}]}
EMPTY_PROJECT = {"topics/other.yaml": "partitions: 1\nreplication_factor: 1\n"}
ACCEPTED = {
    "topics/orders/orders.placed.yaml": "description: 'One record: an order.'\nowner: team-orders\npartitions: 12\n"
    "replication_factor: 3\nconfig: {cleanup.policy: [compact, delete], retention.ms: 36h, preallocate: true,"
    " min.cleanable.dirty.ratio: 0.1}\n"
    "contents: {key: {format: uuid}, value: {format: json, schema: placed.json}, headers: {required: [trace-id]}}\n",
    "topics/orders/placed.json": json.dumps(JSON_SCHEMA),
    "topics/orders/orders.paid.yaml": "partitions: 6\nreplication_factor: 3\nconfig: {retention.ms: -1}\n"
    "contents: {key: {format: json, schema: key.json}, value: {format: avro, schema: paid.avsc}}\n",
    "topics/orders/key.json": json.dumps(DRAFT_7),
    "topics/orders/paid.avsc": json.dumps(AVRO),
    "topics/raw.yaml": "partitions: 1\nreplication_factor: 1\nconfig: {cleanup.policy: []}\n"
    "contents: {value: {format: string}}\n",
    "topics/events.yaml": "partitions: 1\nreplication_factor: 1\n"
    "contents: {value: {format: protobuf, schema: event.proto}}\n",
    "topics/event.proto": 'syntax = "proto3";\nmessage Event { string id = 1; }\n',
}
ONLY_ODCS = {
    "topics/odd.yaml": "partitions: 1\nreplication_factor: 1\n"
    "config: {cleanup.policy: delete, retention.ms: 90s}\n"
    "contents: {key: {format: long, required: true, max_share: 0.5}, value: {format: avro, registry: true},"
    " timestamps: {max_ahead: 1h}, records: {max_bytes: 64KiB}, expressions: [{id: a, require: 'size(key) > 0'}]}\n",
}


def export(root: Path, *arguments: str) -> Outcome:
    done = topicwarden("export", *arguments, cwd=root)
    assert done.code == 0, done.out + done.err
    return done


def resolved(root: Path) -> dict[str, tuple[Topic, dict[str, Any]]]:
    """Return each topic without the paths of its schemas, and the schemas."""
    found = {}
    for declaration in resolve(load(root / "topics", root, ["dev"]), "dev").declarations:
        schemas = {}
        contents = declaration.topic.contents.model_dump(by_alias=True)
        for part in ("key", "value"):
            if path := schema_path(declaration, part):
                text = (root / path).read_text()
                schemas[part] = text if path.endswith(".proto") else json.loads(text)
                contents[part]["schema"] = None
        topic = replace(declaration.topic, contents=Contents.model_validate(contents), domain="")
        found[topic.name] = (topic, schemas)
    return found


def imported(root: Path, *files: Path) -> dict[str, tuple[Topic, dict[str, Any]]]:
    project(root, {})
    (root / "topics").mkdir(exist_ok=True)
    arguments = [argument for file in files for argument in ("--from", str(file))]
    done = topicwarden("import", *arguments, cwd=root)
    assert done.code == 0, done.out + done.err
    return resolved(root)


def test_an_exported_asyncapi_document_imports_as_the_same_topics(tmp_path: Path) -> None:
    accepted = project(tmp_path / "held", ACCEPTED)
    done = export(accepted, "--to", "asyncapi", "--out", "api.yaml")
    assert "not-exported" not in done.err
    assert imported(tmp_path / "again", accepted / "api.yaml") == resolved(accepted)


def test_exported_contracts_import_as_the_same_topics(tmp_path: Path) -> None:
    accepted = project(tmp_path / "held", ACCEPTED | ONLY_ODCS)
    done = export(accepted, "--to", "odcs", "--out", "contracts")
    assert "not-exported" not in done.err
    files = sorted((accepted / "contracts").iterdir())
    assert [file.name for file in files] == [f"{name}.odcs.yaml" for name in sorted(resolved(accepted))]
    assert imported(tmp_path / "again", *files) == resolved(accepted)


def test_settings_that_cannot_be_exported_are_reported_at_their_line(tmp_path: Path) -> None:
    done = export(project(tmp_path, ONLY_ODCS), "--to", "asyncapi")
    named = [line.partition("for it: ")[2].partition(" ")[0] for line in done.err.splitlines() if "for it" in line]
    assert named == [
        "contents.expressions",
        "contents.key.format",
        "contents.key.max_share",
        "contents.key.required",
        "contents.records.max_bytes",
        "contents.timestamps.max_ahead",
        "contents.value.format",
        "contents.value.registry",
    ]
    assert "topics/odd.yaml:4:175: warning: " in done.err


def test_contracts_are_valid(tmp_path: Path) -> None:
    done = export(project(tmp_path, ACCEPTED | ONLY_ODCS), "--to", "odcs")
    schema = json.loads((suite("odcs") / "schema" / "odcs-json-schema-v3.1.0.json").read_text())
    contracts = list(yaml.safe_load_all(done.out))
    assert len(contracts) == 5
    for contract in contracts:
        jsonschema.validate(contract, schema)


def test_an_asyncapi_document_is_valid(tmp_path: Path) -> None:
    configured = os.environ.get(VARIABLE)
    parents = (Path(configured),) if configured else DEFAULTS
    files = (parent / "asyncapi-schemas" / "schemas" / "3.0.0-without-$id.json" for parent in parents)
    file = next((file for file in files if file.is_file()), None)
    if file is None:
        pytest.skip("the JSON Schema of AsyncAPI is missing: run tests/fetch-conformance")
    done = export(project(tmp_path, ACCEPTED | ONLY_ODCS), "--to", "asyncapi")
    jsonschema.validate(yaml.safe_load(done.out), json.loads(file.read_text()))


def test_a_different_file_is_replaced_only_with_force(tmp_path: Path) -> None:
    root = project(tmp_path, ACCEPTED)
    (root / "api.yaml").write_text("mine\n")
    refused = topicwarden("export", "--to", "asyncapi", "--out", "api.yaml", cwd=root)
    assert refused.code == 2
    assert "api.yaml exists and differs; pass --overwrite, or another --out" in refused.err
    assert (root / "api.yaml").read_text() == "mine\n"
    export(root, "--to", "asyncapi", "--out", "api.yaml", "--overwrite")
    first = (root / "api.yaml").read_text()
    assert "wrote" not in export(root, "--to", "asyncapi", "--out", "api.yaml").err
    assert (root / "api.yaml").read_text() == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "asyncap"), "did you mean asyncapi?"),
        (("--to", "odcs", "--topics", "nothing"), "no declared topic matches --topics nothing"),
        (("--to", "odcs", "--out", "file"), "cannot be written"),
    ],
)
def test_a_command_that_cannot_run_exits_with_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    root = project(tmp_path, EMPTY_PROJECT)
    (root / "file").write_text("")
    done = topicwarden("export", *arguments, cwd=root)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.out + done.err
