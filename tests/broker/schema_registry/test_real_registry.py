"""Test reads and writes with a real Schema Registry, also behind TLS and authentication."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import trustme

from tests.support.registry import registry_gate
from tests.support.secured import pem
from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import (
    find_version,
    read_registry,
    refusal,
    registered_versions,
    subject_names,
)
from topicwarden.kafka.registry.registry_error import REFERENCED, RegistryError
from topicwarden.kafka.registry.same_schema import same
from topicwarden.kafka.registry.write import register, set_compatibility, soft_delete
from topicwarden.model.compatibility import Compatibility
from topicwarden.model.subject import LiveSubject, RegisteredSchema, SchemaReference
from topicwarden.specs.stacks.certificate_settings import Certificates
from topicwarden.specs.stacks.registry_settings import RegistrySettings

TOKEN, PASSWORD = "t0ken-of-the-registry", "s3cret"
PROTO = 'syntax = "proto3";\npackage shop;\nmessage Order { string id = 1; }\n'
JSON = (
    '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {"type": "string"}}}'
)


def record(name: str, *fields: str, kind: str = "int") -> RegisteredSchema:
    """Return an Avro record; a field that ends with "?" has a default."""
    listed = [
        {"name": each.rstrip("?"), "type": kind, **({"default": 0} if each.endswith("?") else {})} for each in fields
    ]
    return RegisteredSchema("avro", json.dumps({"type": "record", "name": name, "fields": listed}))


def test_schemas_of_each_format_are_registered_once_and_read_as_they_are(registry_url: str) -> None:
    schemas = {
        "real/avro-value": record("A", "a"),
        "real json é": RegisteredSchema("json", JSON),
        "real:proto": RegisteredSchema("protobuf", PROTO),
    }
    with RegistryClient(RegistrySettings(registry_url)) as client:
        assert read_registry(client, schemas).subjects == {name: LiveSubject(name) for name in schemas}
        versions = {name: register(client, name, schema) for name, schema in schemas.items()}
        assert {name: register(client, name, schema) for name, schema in schemas.items()} == versions
        for name, level in zip(schemas, Compatibility, strict=False):
            set_compatibility(client, name, level)
        found = read_registry(client, [*schemas, "real-absent"])
        assert set(schemas) <= set(subject_names(client))
    assert (found.error, found.mode) == (None, "READWRITE")
    assert found.subjects["real-absent"] == LiveSubject("real-absent")
    for (name, schema), level in zip(schemas.items(), Compatibility, strict=False):
        latest = found.subjects[name].latest
        assert latest is not None
        assert (latest.version, latest.id) == (versions[name].version, versions[name].id)
        assert same(latest.schema, schema)
        assert found.subjects[name].compatibility is level


@pytest.mark.parametrize("level", Compatibility)
def test_every_level_can_be_set(registry_url: str, level: Compatibility) -> None:
    with RegistryClient(RegistrySettings(registry_url)) as client:
        register(client, "real-level", record("A", "a"))
        set_compatibility(client, "real-level", level)
        assert read_registry(client, ["real-level"]).subjects["real-level"].compatibility is level


def test_an_incompatible_schema_is_refused_and_an_older_version_keeps_its_id(registry_url: str) -> None:
    subject = "real-incompatible"
    with RegistryClient(RegistrySettings(registry_url)) as client:
        first = register(client, subject, record("A", "a"))
        set_compatibility(client, subject, Compatibility.BACKWARD)
        second = register(client, subject, record("A", "a", "b?"))
        assert (first.version, second.version) == (1, 2)
        assert refusal(client, subject, record("A", "a", "c"), None)
        assert refusal(client, subject, record("A", "a", "c?"), None) == ()
        with pytest.raises(RegistryError, match="incompatible") as failure:
            register(client, subject, record("A", "a", "c"))
        assert failure.value.status == 409
        with pytest.raises(RegistryError) as failure:
            register(client, subject, RegisteredSchema("avro", '{"type": "record"}'))
        assert failure.value.status == 422
        assert register(client, subject, record("A", "a")) == first
        assert find_version(client, subject, record("A", "z")) is None
        assert [(each.version, each.id) for each in registered_versions(client, subject)] == [
            (1, first.id),
            (2, second.id),
        ]


def test_only_a_transitive_level_compares_with_older_versions(registry_url: str) -> None:
    subject, without_default = "real-transitive", record("A", "a", "b")
    with RegistryClient(RegistrySettings(registry_url)) as client:
        for schema in (record("A", "a"), record("A", "a", "b?")):
            register(client, subject, schema)
        for level, compatible in ((Compatibility.BACKWARD, True), (Compatibility.BACKWARD_TRANSITIVE, False)):
            set_compatibility(client, subject, level)
            assert (refusal(client, subject, without_default, level) == ()) is compatible


def test_a_referenced_subject_cannot_be_deleted_before_the_subject_that_refers_to_it(registry_url: str) -> None:
    order = RegisteredSchema(
        "avro",
        '{"type": "record", "name": "Order", "fields": [{"name": "price", "type": "Money"}]}',
        (SchemaReference("Money", "real-money", 1),),
    )
    with RegistryClient(RegistrySettings(registry_url)) as client:
        register(client, "real-money", record("Money", "amount"))
        found = register(client, "real-order", order)
        assert found.schema == order
        assert register(client, "real-order", order) == found
        with pytest.raises(RegistryError) as failure:
            soft_delete(client, "real-money")
        assert failure.value.code == REFERENCED
        soft_delete(client, "real-order")
        soft_delete(client, "real-order")
        assert read_registry(client, ["real-order"]).subjects["real-order"].latest is None
        assert "real-order" not in subject_names(client)


def test_writers_at_the_same_time_get_one_version_for_one_schema(registry_url: str) -> None:
    schemas = [record("A", "a", *(f"f{number}?" for number in range(count))) for count in (0, 1, 2, 3)]

    def write(number: int) -> tuple[int, int, int]:
        with RegistryClient(RegistrySettings(registry_url)) as client:
            found = register(client, "real-race", schemas[number % len(schemas)])
        return number % len(schemas), found.version, found.id

    with ThreadPoolExecutor(8) as writers:
        written = set(writers.map(write, range(24)))
    assert len(written) == len(schemas)
    assert {version for _, version, _ in written} == {1, 2, 3, 4}
    with RegistryClient(RegistrySettings(registry_url)) as client:
        assert len(registered_versions(client, "real-race")) == len(schemas)


@pytest.mark.parametrize("access", ["token", "password", "certificate"])
def test_a_registry_with_authentication_is_read_and_written(registry_url: str, access: str) -> None:
    ca = trustme.CA()
    trusted = ca.cert_pem.bytes().decode()
    certificate, key = pem(ca.issue_cert("client.example.com"))
    token, password = (TOKEN if access == "token" else None), (PASSWORD if access == "password" else None)
    with registry_gate(registry_url, ca, token=token, password=password) as url:
        certificates = Certificates(trusted, certificate, key) if access == "certificate" else Certificates(trusted)
        settings = RegistrySettings(url, "registrar" if password else None, password, token, certificates)
        with RegistryClient(settings) as client:
            set_compatibility(client, f"real-{access}", Compatibility.FULL)
            assert register(client, f"real-{access}", record("A", "a")).version == 1
            assert read_registry(client, [f"real-{access}"]).error is None
        with RegistryClient(RegistrySettings(url, certificates=Certificates(trusted))) as client:
            error = read_registry(client, ["a"]).error
    assert error and ("clientCert" in error if access == "certificate" else "needs credentials" in error)
