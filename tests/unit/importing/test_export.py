"""Test that an export is valid, and that an import reads back what it wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.support.command import Outcome, project, topicwarden
from tests.support.conformance_data import suite
from topicwarden.extensions.interchange.convert.odcs_properties import properties_of
from topicwarden.extensions.interchange.export.odcs_contract import avro_properties
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
    " timestamps: {max_ahead: 1h}, records: {max_bytes: 64KiB}, expressions: [{id: a, require: 'size(key) > 0'}],"
    " arrival: {max_silence: 90m, every: 1d, timezone: Europe/Berlin, min: 5}, personal: [email]}\n",
    "topics/identified.yaml": "partitions: 1\nreplication_factor: 1\n"
    "contents: {value: {format: json}, unique: [{fields: [id]}, {fields: [/meta/source, meta.id]}]}\n",
    "topics/mixed.yaml": "partitions: 1\nreplication_factor: 1\n"
    "contents: {value: {format: json}, unique: [{fields: [id]}, {header: event-id, within: 1d}]}\n",
}
MONEY = {"type": "record", "name": "Money", "namespace": "com.acme", "fields": [{"name": "units", "type": "long"}]}
BILL = {
    "type": "record",
    "name": "Bill",
    "namespace": "com.acme",
    "fields": [
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}, "doc": "the key"},
        {"name": "due", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None},
        {"name": "total", "type": "Money"},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "items": {
                    "type": "record",
                    "name": "Line",
                    "fields": [{"name": "raw", "type": "bytes"}, {"name": "next", "type": ["null", "Line"]}],
                },
            },
        },
        {"name": "other", "type": ["string", "long"]},
    ],
}
PROTO = 'syntax = "proto3";\n// a comment\nmessage Event {\n  string id = 1;\n}\n'
MANAGED = {
    "stacks/Pulumi.dev.yaml": "config: {'kafka:bootstrapServers': ['b:9092', 'a:9092'], 'kafka:tlsEnabled': false,"
    " 'topicwarden:schemaRegistry': 'http://registry:8081/v7'}\n",
    "subjects/common.yaml": "subjects: {com.acme.Money: {format: avro, schema: money.avsc}}\n",
    "subjects/money.avsc": json.dumps(MONEY),
    "topics/bills.yaml": "partitions: 1\nreplication_factor: 1\ncontents:\n  key: {format: string}\n"
    "  value:\n    format: avro\n    schema: bill.avsc\n    registry: {compatibility: FULL, strategy: record,"
    " references: [{name: com.acme.Money, subject: com.acme.Money}]}\n",
    "topics/bill.avsc": json.dumps(BILL),
    "topics/events.yaml": "partitions: 1\nreplication_factor: 1\ncontents:\n"
    "  value: {format: protobuf, schema: event.proto, registry: {subject: all-events}}\n",
    "topics/event.proto": PROTO,
    "topics/json.yaml": "partitions: 1\nreplication_factor: 1\ncontents:\n"
    "  key: {format: json, schema: key.json, registry: {strategy: topic}}\n"
    "  value: {format: json, schema: key.json}\n",
    "topics/key.json": json.dumps(DRAFT_7),
    "topics/wire.yaml": "partitions: 1\nreplication_factor: 1\ncontents:\n"
    "  value: {format: avro, schema: paid.avsc, registry: true}\n",
    "topics/paid.avsc": json.dumps(AVRO),
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


def imported(
    root: Path, *files: Path, settings: dict[str, str] | None = None
) -> dict[str, tuple[Topic, dict[str, Any]]]:
    project(root, settings or {})
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


def _with_subjects(root: Path) -> dict[str, str]:
    """Return the stack's settings and the files below ``subjects/``, which an import needs to pass the check."""
    names = ("stacks/Pulumi.dev.yaml", "subjects/common.yaml", "subjects/money.avsc")
    return {name: (root / name).read_text() for name in names}


def test_managed_schemas_survive_an_export_to_asyncapi(tmp_path: Path) -> None:
    root = project(tmp_path / "held", MANAGED)
    assert topicwarden("check", cwd=root).code == 0
    done = export(root, "--to", "asyncapi", "--out", "api.yaml")
    assert "not-exported" not in done.err
    document = yaml.safe_load((root / "api.yaml").read_text())
    assert document["servers"] == {
        "kafka": {
            "host": "a:9092",
            "protocol": "kafka",
            "bindings": {
                "kafka": {
                    "schemaRegistryUrl": "http://registry:8081/v7",
                    "schemaRegistryVendor": "confluent",
                    "bindingVersion": "0.5.0",
                }
            },
        }
    }
    message = document["channels"]["bills"]["messages"]["record"]
    assert message["bindings"]["kafka"] == {
        "key": {"type": "string"},
        "schemaIdLocation": "payload",
        "schemaIdPayloadEncoding": "confluent",
        "schemaLookupStrategy": "RecordNameStrategy",
        "bindingVersion": "0.5.0",
    }
    assert document["components"]["schemas"]["bills-value"]["schemaFormat"].startswith("application/vnd.apache.avro;")
    assert imported(tmp_path / "again", root / "api.yaml", settings=_with_subjects(root)) == resolved(root)


def test_managed_schemas_survive_an_export_to_odcs(tmp_path: Path) -> None:
    root = project(tmp_path / "held", MANAGED)
    assert "not-exported" not in export(root, "--to", "odcs", "--out", "contracts").err
    contract = yaml.safe_load((root / "contracts" / "bills.odcs.yaml").read_text())
    assert contract["schema"][0]["properties"] == [
        {"name": "id", "logicalType": "string", "physicalType": "uuid", "description": "the key", "required": True},
        {"name": "due", "logicalType": "date", "physicalType": "date"},
        {"name": "total", "physicalType": "Money", "required": True},
        {
            "name": "lines",
            "logicalType": "array",
            "physicalType": "array",
            "items": {
                "logicalType": "object",
                "physicalType": "record",
                "properties": [
                    {"name": "raw", "physicalType": "bytes", "required": True},
                    {"name": "next", "logicalType": "object", "physicalType": "record"},
                ],
            },
            "required": True,
        },
        {"name": "other", "physicalType": "union", "required": True},
    ]
    schema = json.loads((suite("odcs") / "schema" / "odcs-json-schema-v3.1.0.json").read_text())
    jsonschema.validate(contract, schema)
    files = sorted((root / "contracts").iterdir())
    assert imported(tmp_path / "again", *files, settings=_with_subjects(root)) == resolved(root)


@pytest.mark.parametrize(
    "settings",
    [
        "config: {'topicwarden:schemaRegistry': {url: {secure: v1:abc}}}\nencryptionsalt: v1:x\n",
        "config: {'topicwarden:schemaRegistry': sandbox}\n",
    ],
)
def test_without_an_address_of_the_registry_no_schema_ids_are_exported(tmp_path: Path, settings: str) -> None:
    done = export(project(tmp_path, MANAGED | {"stacks/Pulumi.dev.yaml": settings}), "--to", "asyncapi")
    reason = "AsyncAPI needs the URL of the Schema Registry, and the stack's settings do not show one"
    assert f"not exported, because {reason}: contents.value.registry (3 topics)" in done.err
    assert f"{reason}: contents.key.registry" in done.err
    assert "schemaIdLocation" not in done.out
    assert "servers" not in done.out


def test_the_word_sandbox_is_no_address_of_a_server(tmp_path: Path) -> None:
    settings = "config: {'topicwarden:cluster': sandbox, 'topicwarden:schemaRegistry': 'http://registry:8081'}\n"
    done = export(project(tmp_path, MANAGED | {"stacks/Pulumi.dev.yaml": settings}), "--to", "asyncapi")
    assert yaml.safe_load(done.out)["servers"]["kafka"]["host"] == "localhost:9092"


def test_settings_that_cannot_be_exported_are_reported_at_their_line(tmp_path: Path) -> None:
    done = export(project(tmp_path, ONLY_ODCS), "--to", "asyncapi")
    named = [line.partition("for it: ")[2].partition(" ")[0] for line in done.err.splitlines() if "for it" in line]
    assert named == [
        *(f"contents.arrival.{name}" for name in ("every", "max_silence", "min", "timezone")),
        "contents.expressions",
        "contents.key.format",
        "contents.key.max_share",
        "contents.key.required",
        "contents.personal",
        "contents.records.max_bytes",
        "contents.timestamps.max_ahead",
        "contents.unique",
        "contents.value.format",
        "contents.value.registry",
    ]
    assert "topics/odd.yaml:4:175: warning: " in done.err


@pytest.mark.parametrize("standard", ["asyncapi", "odcs"])
def test_access_and_allowed_changes_that_are_not_exported_are_reported_at_their_line(
    standard: str, tmp_path: Path
) -> None:
    topic = "partitions: 1\nreplication_factor: 1\nallow: [delete]\naccess:\n  produce: [User:a]\n"
    topic += "  consume:\n    - User:b\n"
    done = export(project(tmp_path, {"topics/a.yaml": topic, "topics/b.yaml": topic}), "--to", standard)
    found = [line.partition(": not exported") for line in done.err.splitlines()[:-1]]
    assert [(position, rest.partition("for it: ")[2]) for position, _, rest in found] == [
        ("topics/a.yaml:7:5: warning", "access.consume (2 topics) [not-exported]"),
        ("topics/a.yaml:5:12: warning", "access.produce (2 topics) [not-exported]"),
        ("topics/a.yaml:3:8: warning", "allow (2 topics) [not-exported]"),
    ]


def test_identities_of_fields_alone_are_duplicate_values(tmp_path: Path) -> None:
    done = export(project(tmp_path, ONLY_ODCS), "--to", "odcs")
    found = {each["id"]: each["schema"][0].get("quality") for each in yaml.safe_load_all(done.out)}
    fields = (["id"], ["/meta/source", "meta.id"])
    expected = [
        {"type": "library", "metric": "duplicateValues", "mustBe": 0, "arguments": {"properties": each}}
        for each in fields
    ]
    assert found == {"identified": expected, "mixed": None, "odd": None}


def test_allowed_values_are_invalid_values_without_null() -> None:
    state = {"type": ["string", "null"], "enum": ["open", "paid", None]}
    found = properties_of({"properties": {"state": state, "id": {"type": "string"}}, "required": ["id"]})
    metric = {"type": "library", "metric": "invalidValues", "mustBe": 0, "arguments": {"validValues": ["open", "paid"]}}
    assert found == [
        {"name": "state", "logicalType": "string", "quality": [metric]},
        {"name": "id", "logicalType": "string", "required": True},
    ]


def test_types_with_the_names_of_kinds_are_described_by_their_names() -> None:
    fields = [
        {"name": "a", "type": "record"},
        {"name": "b", "type": "array"},
        {"name": "c", "type": {"type": "fixed", "name": "array", "size": 1}},
        {"name": "d", "type": {"type": "record", "name": "record", "fields": []}},
    ]
    found = avro_properties({"type": "record", "name": "A", "fields": fields})
    assert [each["physicalType"] for each in found] == ["record", "array", "fixed", "record"]


def test_the_name_of_a_primitive_type_is_that_type_in_every_namespace() -> None:
    fields = [
        {"name": "a", "type": {"type": "fixed", "name": "string", "size": 1}},
        {"name": "b", "type": "string"},
        {"name": "c", "type": "n.string"},
    ]
    found = avro_properties({"type": "record", "name": "A", "namespace": "n", "fields": fields})
    assert [each["physicalType"] for each in found] == ["fixed", "string", "fixed"]


def test_contracts_are_valid(tmp_path: Path) -> None:
    done = export(project(tmp_path, ACCEPTED | ONLY_ODCS), "--to", "odcs")
    schema = json.loads((suite("odcs") / "schema" / "odcs-json-schema-v3.1.0.json").read_text())
    contracts = list(yaml.safe_load_all(done.out))
    assert len(contracts) == 7
    for contract in contracts:
        jsonschema.validate(contract, schema)


def test_an_asyncapi_document_is_valid(tmp_path: Path) -> None:
    file = suite("asyncapi-schemas") / "schemas" / "3.0.0-without-$id.json"
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


def test_the_file_that_a_link_names_is_replaced(tmp_path: Path) -> None:
    root = project(tmp_path, ACCEPTED)
    (root / "real.yaml").write_text("old\n")
    (root / "api.yaml").symlink_to("real.yaml")
    assert "wrote api.yaml" in export(root, "--to", "asyncapi", "--out", "api.yaml", "--overwrite").err
    assert (root / "api.yaml").is_symlink()
    assert (root / "real.yaml").read_text().startswith("asyncapi: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--to", "asyncap"), "did you mean asyncapi?"),
        (("--to", "odcs", "--topics", "nothing"), "no declared topic matches --topics nothing"),
        (("--to", "odcs", "--out", "file"), "file cannot be written"),
        (
            ("--to", "asyncapi", "--out", "topics", "--overwrite"),
            "topicwarden: topics cannot be written: Is a directory",
        ),
    ],
)
def test_a_command_that_cannot_run_exits_with_2(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    root = project(tmp_path, EMPTY_PROJECT)
    (root / "file").write_text("")
    done = topicwarden("export", *arguments, cwd=root)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.out + done.err
