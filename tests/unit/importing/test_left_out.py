"""Test that a valid entry that cannot be converted is left out with the reason, and that the others are imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Outcome, project, topicwarden

STRIMZI = (
    "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: kept}\nspec: {partitions: 1, replicas: 1"
)
ASYNCAPI = (
    "asyncapi: 3.0.0\nservers: {s: {host: k, protocol: kafka}}\nchannels:\n"
    "  a: {address: kept, bindings: {kafka: {partitions: 1, replicas: 1}}}\n"
)
JIKKOU = "apiVersion: kafka.jikkou.io/v1\nkind: KafkaTopic\nmetadata: {name: kept}\n"
JIKKOU += "spec: {partitions: 1, replicas: 1}\n---\n"
ENTRIES = {
    "a setting of a service": (STRIMZI + ", config: {confluent.tier.enable: true}}\n", "confluent.tier.enable"),
    "a channel without an address": (ASYNCAPI + "  b: {bindings: {kafka: {partitions: 1, replicas: 1}}}\n", "address"),
    "a channel whose address is null": (ASYNCAPI + "  b: {address: null, bindings: {kafka: {}}}\n", "address"),
    "an address with parameters": (ASYNCAPI + "  b: {address: 'orders.{id}', bindings: {kafka: {}}}\n", "parameters"),
    "a subject that refers to nothing": (
        JIKKOU + "apiVersion: schemaregistry.jikkou.io/v1\nkind: SchemaRegistrySubject\nmetadata: {name: s}\n"
        "spec: {schemaType: AVRO, schema: '{\"type\": 1}'}\n",
        "subject s was not imported",
    ),
    "a schema file that is not there": (
        JIKKOU + "apiVersion: schemaregistry.jikkou.io/v1\nkind: SchemaRegistrySubject\nmetadata: {name: s}\n"
        "spec: {schemaType: AVRO, schema: {$ref: missing.avsc}}\n",
        "missing.avsc",
    ),
    "a user that cannot log in": (
        JIKKOU + "apiVersion: kafka.jikkou.io/v1\nkind: KafkaUser\nmetadata: {name: jürgen}\n"
        "spec: {authentications: [{type: scram-sha-512}]}\n",
        "jürgen",
    ),
    "other services": (
        "topics: {kept: {partitions: 1, replication: 1}}\n"
        "services: {c: {type: kafka-connect, principal: 'User:c', group-id: c, connectors: {}}}\n",
        "services.c",
    ),
    "streams of Julie": (
        "context: a\nprojects: [{name: b, streams: [{principal: 'User:s', topics: {}}], topics: [{name: kept, "
        "config: {num.partitions: 1, replication.factor: 1}}]}]\n",
        "streams",
    ),
}


def run(root: Path, text: str) -> Outcome:
    (project(root, {}) / "topics").mkdir(exist_ok=True)
    (root / "source.yaml").write_text(text)
    return topicwarden("import", "--from", "source.yaml", cwd=root)


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_that_cannot_be_converted_is_left_out(name: str, tmp_path: Path) -> None:
    text, reason = ENTRIES[name]
    done = run(tmp_path, text)
    assert done.code == 1, done.out + done.err
    assert reason in done.err
    assert "left out" in done.err
    assert list((tmp_path / "topics").rglob("*kept.yaml"))


@pytest.mark.parametrize("text", [ASYNCAPI + "  b: {address: 5}\n", ASYNCAPI + "  b: [\n"])
def test_a_mistake_imports_nothing(text: str, tmp_path: Path) -> None:
    done = run(tmp_path, text)
    assert done.code == 1, done.out + done.err
    assert "nothing was imported" in done.err
    assert not list((tmp_path / "topics").rglob("*.yaml"))


def test_an_allow_that_a_deny_limits_is_left_out_with_it(tmp_path: Path) -> None:
    """The address of the DENY is no address of Kafka's, so the DENY cannot be declared."""
    text = JIKKOU + (
        "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalAuthorization\nmetadata: {name: 'User:one'}\n"
        "spec: {acls: [{resource: {type: topic, pattern: pay.salaries}, type: DENY, operations: [ALL],"
        " host: 10.0.0.*},\n"
        " {resource: {type: topic, pattern: pay., patternType: PREFIXED}, operations: [READ]},\n"
        " {resource: {type: topic, pattern: kept}, operations: [READ]}]}\n"
    )
    done = run(tmp_path, text)
    assert done.code == 1, done.out + done.err
    written = "".join(
        path.read_text() for folder in ("topics", "access") for path in (tmp_path / folder).rglob("*.yaml")
    )
    assert "User:one" in written
    assert "pay." not in written
    assert "DENY" in done.err
