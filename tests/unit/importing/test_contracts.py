"""Test the import of AsyncAPI documents and data contracts, with schemas and references, and of official examples."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.support.cases import IMPORT_CASES as CASES
from tests.support.cases import find_case
from tests.support.command import Outcome, project, topicwarden
from tests.support.conformance_data import suite
from topicwarden.extensions.interchange.convert import FORMATS, SourceFile, read_all

ASYNCAPI = """\
asyncapi: 3.0.0
info: {title: Orders, version: 1.0.0}
channels:
  placed:
    address: orders.placed
    bindings: {kafka: {}}
    messages: {placed: {contentType: application/json, payload: {$ref: 'REFERENCE'}}}
"""
DEFAULTS = {"topics/_defaults.yaml": "partitions: 3\nreplication_factor: 1\n"}


def run(root: Path, text: str, *arguments: str, files: dict[str, str] | None = None) -> Outcome:
    (project(root, files or {}) / "topics").mkdir(exist_ok=True)
    (root / "source.yaml").write_text(text)
    return topicwarden("import", "--from", "source.yaml", *arguments, cwd=root)


def tree(root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() for path in root.rglob("*") if path.is_file()}


def test_a_second_import_reports_that_nothing_changed(tmp_path: Path) -> None:
    text = find_case(CASES, "good", "asyncapi").files["orders.asyncapi.yaml"]
    first = run(tmp_path, text)
    # The exit code says that two entries were left out.
    assert (first.code, "2 entries were left out" in first.err) == (1, True), first.out + first.err
    assert "2 new topics" in first.err
    assert topicwarden("check", cwd=tmp_path).code == 0
    before = tree(tmp_path / "topics")
    second = run(tmp_path, text)
    assert (second.code, "2 entries were left out" in second.err) == (1, True), second.out + second.err
    assert "skipped: 2 already declared" in second.err
    assert tree(tmp_path / "topics") == before


def test_a_dry_run_checks_topics_whose_schemas_are_not_written(tmp_path: Path) -> None:
    text = find_case(CASES, "good", "asyncapi").files["orders.asyncapi.yaml"]
    done = run(tmp_path, text, "--dry-run")
    assert (done.code, "2 entries were left out" in done.err) == (1, True), done.out + done.err
    assert "+++ b/topics/orders/schemas/orders.placed.v1-value.json" in done.out
    assert tree(tmp_path / "topics") == {}


def test_counts_that_a_contract_does_not_have_come_from_the_defaults(tmp_path: Path) -> None:
    text = ASYNCAPI.replace("{$ref: 'REFERENCE'}", "{}")
    refused = run(tmp_path, text)
    assert refused.code == 1
    assert "source.yaml:6:23: orders.placed: expected the partitions, got nothing" in refused.out
    done = run(tmp_path, text, files=DEFAULTS)
    assert done.code == 0, done.out + done.err
    assert "partitions" not in (tmp_path / "topics" / "orders" / "orders.placed.yaml").read_text()
    assert run(tmp_path, text).code == 0


def test_a_schema_in_a_file_beside_the_document_is_read(tmp_path: Path) -> None:
    files = {
        "schemas/order.yaml": "order: {type: object, properties: {item: {$ref: './item.json#'}}}\n",
        "schemas/item.json": '{"type": "object", "required": ["id"]}',
    }
    done = run(tmp_path, ASYNCAPI.replace("REFERENCE", "schemas/order.yaml#/order"), files=DEFAULTS | files)
    assert done.code == 0, done.out + done.err
    schema = (tmp_path / "topics" / "orders" / "schemas" / "orders.placed-value.json").read_text()
    assert '"$ref": "#/definitions/schema"' in schema
    assert '"required"' in schema


def test_an_existing_schema_file_is_never_overwritten(tmp_path: Path) -> None:
    taken = {"topics/orders/schemas/orders.placed-value.json": "{}\n"}
    done = run(tmp_path, ASYNCAPI.replace("{$ref: 'REFERENCE'}", "{type: object}"), files=DEFAULTS | taken)
    assert done.code == 0, done.out + done.err
    folder = tmp_path / "topics" / "orders"
    assert (folder / "schemas" / "orders.placed-value.json").read_text() == "{}\n"
    assert "schemas/orders.placed-value-2.json" in (folder / "orders.placed.yaml").read_text()


def test_references_outside_of_the_project_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (tmp_path / "secret.yaml").write_text("{type: object, const: hunter2}\n")
    (root / "link").parent.mkdir()
    (root / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    for reference in ("../secret.yaml", "link.yaml"):
        done = run(root, ASYNCAPI.replace("REFERENCE", reference), files=DEFAULTS)
        assert done.code == 1
        assert f'$ref: "{reference}" is outside of the folder of this file; move both into one folder' in done.out
        assert "hunter2" not in done.out + done.err
    done = run(root, ASYNCAPI.replace("REFERENCE", "https://example.com/order.json"), files=DEFAULTS)
    assert done.code == 0, done.out + done.err
    assert "references to other hosts are not followed, so not imported: https://example.com/order.json" in done.err


TOPICS = {
    "kafka-schema.odcs.yaml": "orders",
    "kafka-schemaregistry.odcs.yaml": "orders",
    "kafka-server.odcs.yaml": "orders.avro.v1",
}


def contracts() -> list[Path]:
    return sorted((suite("odcs") / "docs" / "examples").rglob("*.yaml"))


def source(path: Path) -> SourceFile:
    return SourceFile(path.name, path.read_bytes(), path, path.parent)


def test_every_contract_is_recognised_and_only_kafka_topics_are_imported() -> None:
    found: dict[str, str] = {}
    for path in contracts():
        assert FORMATS["odcs"].recognises(source(path)), path
        read = read_all([source(path)])
        assert read.problems == (), path
        assert read.notes, path
        for one in read.topics:
            found[path.name] = one.topic.name
            assert one.missing.keys() == {"partitions", "replication_factor"}
    assert found == TOPICS


def bindings() -> list[dict[str, object]]:
    """Return the examples of the bindings' definition that have channels."""
    text = (suite("asyncapi") / "kafka" / "README.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    return [block for block in blocks if "channels" in block and block["channels"].get("user-signedup", True)]


def test_the_examples_of_the_kafka_bindings_are_read() -> None:
    names, keys, registry = [], [], []
    for block in bindings():
        servers = {"test": {"host": "localhost:9092", "protocol": "kafka"}}
        document = {"asyncapi": "3.0.0", "info": {"title": "t", "version": "1"}, "servers": servers, **block}
        read = read_all([SourceFile("bindings.yaml", yaml.safe_dump(document).encode())])
        assert read.problems == ()
        [one] = read.topics
        names.append((one.topic.name, one.topic.partitions, one.topic.replication_factor))
        keys.append(one.topic.contents.key.format)
        registry.append(one.topic.config.get("cleanup.policy"))
    assert names == [("my-specific-topic-name", 20, 3), ("test-topic", 0, 0), ("test-topic", 0, 0)]
    assert keys == [None, "string", "string"]
    assert registry == ["delete,compact", None, None]


@pytest.mark.parametrize("version", ["2.6.0", "3.0.0"])
def test_a_document_without_channels_is_named(version: str) -> None:
    document = f"asyncapi: {version}\ninfo: {{title: t, version: '1'}}\n"
    read = read_all([SourceFile("empty.yaml", document.encode())])
    assert (read.topics, read.problems) == ((), ())
    assert "this document declares no channel" in read.notes[0].message


def _topic_with(options: str, version: str = "v3.1.0", encoding: str = "json") -> SourceFile:
    return SourceFile(
        "orders.odcs.yaml",
        f"apiVersion: {version}\nkind: DataContract\nservers: [{{type: kafka, format: {encoding}}}]\n"
        "schema:\n- name: orders\n  physicalType: topic\n  quality:\n"
        "  - {type: library, metric: duplicateValues, mustBe: 0, arguments: {properties: [id]}}\n"
        "  customProperties: [{property: partitions, value: 1}, {property: replicationFactor, value: 1}]\n"
        "  properties:\n  - {name: id, logicalType: string, required: true}\n  - name: lines\n    logicalType: object\n"
        f"    properties:\n    - {{name: good, logicalType: integer}}\n    - {options}\n".encode(),
    )


@pytest.mark.parametrize(
    "options",
    [
        "{name: bad, logicalType: string, logicalTypeOptions: {pattern: '('}}",
        "{name: bad, logicalType: number, logicalTypeOptions: {maximum: high}}",
        "{name: bad, logicalType: array, items: {logicalType: string, logicalTypeOptions: {minLength: -1}}}",
    ],
)
def test_an_invalid_property_is_left_out_alone(options: str) -> None:
    found = read_all([_topic_with(options)])
    [topic] = found.topics
    assert topic.topic.contents.unique
    [schema] = topic.schemas
    lines = json.loads(schema.text)["properties"]["lines"]
    assert list(lines["properties"]) == ["good"]
    [note] = [note for note in found.notes if "JSON Schema" in note.message]
    assert (note.location.line, note.message.endswith(": the type of bad")) == (16, True)
    assert (found.problems, found.left_out, len(found.notes)) == ((), 1, 1)


def test_an_exclusive_bound_may_be_a_boolean() -> None:
    options = "{name: n, logicalType: number, logicalTypeOptions: {minimum: 1, maximum: 5, exclusiveMaximum: true,"
    found = read_all([_topic_with(f"{options} exclusiveMinimum: false}}}}", "v3.0.2")])
    [schema] = found.topics[0].schemas
    lines = json.loads(schema.text)["properties"]["lines"]
    assert lines["properties"]["n"] == {"type": ["number", "null"], "minimum": 1, "exclusiveMaximum": 5}
    assert found.notes == ()


def test_a_metric_about_values_of_unknown_format_is_named_with_this_reason() -> None:
    found = read_all([_topic_with("{name: n}", encoding="avro")])
    messages = [note.message for note in found.notes if "duplicateValues" in note.message]
    assert messages == ["not imported, because the format of the values is not imported: quality[] duplicateValues"]


@pytest.mark.parametrize(
    ("minutes", "problem"),
    [
        (153722867280912, ""),
        (153722867280913, "expected a whole number up to 153722867280912, got the number 153722867280913"),
        ("1d", 'expected a whole number up to 153722867280912, got the text "1d"'),
    ],
)
def test_a_retention_that_kafka_cannot_have_is_named_as_the_file_has_it(minutes: object, problem: str) -> None:
    text = f"meta: {{name: a}}\nspec: {{partitions: 1, replicationFactor: 1, retentionMinutes: {minutes}}}\n"
    problems = [each.message for each in read_all([SourceFile("topics.yaml", text.encode())]).problems]
    assert problems == ([f"retentionMinutes: {problem}"] if problem else [])
