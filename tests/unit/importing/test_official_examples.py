"""Test that the official examples of ODCS and of AsyncAPI's Kafka bindings can be imported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.spark.codecs.suites import suite
from topicwarden.interchange.convert import FORMATS, SourceFile, read_all

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
