"""Test that the entries of one import are on one cluster, as far as the files say the cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import project, topicwarden
from topicwarden.extensions.interchange.convert import ConversionResult, SourceFile, read_all
from topicwarden.model.compatibility import Compatibility

STRIMZI = """apiVersion: v1
kind: List
items:
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaTopic
  metadata: {name: one, namespace: kafka, labels: {strimzi.io/cluster: emea}}
  spec: {partitions: 12, replicas: 3}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaTopic
  metadata: {name: two, namespace: kafka-us, labels: {strimzi.io/cluster: us}}
  spec: {partitions: 6, replicas: 3}
- apiVersion: kafka.strimzi.io/v1beta2
  kind: KafkaUser
  metadata: {name: billing, namespace: kafka-us, labels: {strimzi.io/cluster: us}}
  spec:
    authentication: {type: tls}
    authorization: {type: simple, acls: [{resource: {type: topic, name: one}, operations: [Read]}]}
"""
JIKKOU = "\n---\n".join(
    f"apiVersion: kafka.jikkou.io/v1\nkind: KafkaTopic\n"
    f"metadata: {{name: {name}, annotations: {{jikkou.io/provider: {cluster}}}}}\nspec: {{partitions: 1, replicas: 1}}"
    for name, cluster in (("one", "emea"), ("two", "us"))
)
REDPANDA = "\n---\n".join(
    f"apiVersion: cluster.redpanda.com/v1alpha2\nkind: Topic\nmetadata: {{name: {name}}}\n"
    f"spec: {{partitions: 1, replicationFactor: 1, cluster: {{clusterRef: {{name: {cluster}}}}}}}"
    for name, cluster in (("one", "emea"), ("two", "us"))
)
TOPICCTL = "\n---\n".join(
    f"meta: {{name: {name}, cluster: {cluster}}}\nspec: {{partitions: 1, replicationFactor: 1}}"
    for name, cluster in (("one", "emea"), ("two", "us"))
)
ASYNCAPI = (
    "asyncapi: 2.6.0\nservers: {emea: {url: a, protocol: kafka}, us: {url: b, protocol: kafka}}\nchannels:\n"
    "  one: {servers: [emea], bindings: {kafka: {partitions: 1, replicas: 1}}}\n"
    "  two: {servers: [us], bindings: {kafka: {partitions: 1, replicas: 1}}}\n"
)


def state(kind: str, one: dict[str, object], two: dict[str, object], **more: list[str]) -> str:
    resources = [
        {"mode": "managed", "type": kind, "name": f"r{index}", "instances": [{"attributes": attributes}]}
        | {key: values[index] for key, values in more.items()}
        for index, attributes in enumerate((one, two))
    ]
    return json.dumps({"version": 4, "terraform_version": "1.9.0", "resources": resources})


def topics(name: str, count: str, key: str, values: tuple[object, object], **more: object) -> list[dict[str, object]]:
    return [{name: topic, count: 1, key: value, **more} for topic, value in zip(("one", "two"), values, strict=True)]


PROVIDER = 'provider["registry.terraform.io/mongey/kafka"]'
FILES = {
    "strimzi": STRIMZI,
    "jikkou": JIKKOU,
    "redpanda": REDPANDA,
    "topicctl": TOPICCTL,
    "asyncapi": ASYNCAPI,
    "kafka_topic": state(
        "kafka_topic",
        *topics("name", "partitions", "x", (1, 2), replication_factor=1),
        provider=[f"{PROVIDER}.emea", f"{PROVIDER}.us"],
    ),
    "confluent": state(
        "confluent_kafka_topic",
        *topics("topic_name", "partitions_count", "kafka_cluster", ([{"id": "emea"}], [{"id": "us"}])),
    ),
    "aiven": state(
        "aiven_kafka_topic",
        *topics("topic_name", "partitions", "service_name", ("emea", "us"), replication=1, config=[]),
    ),
    "redpanda_topic": state(
        "redpanda_topic",
        *topics("name", "partition_count", "cluster_api_url", ("emea", "us"), replication_factor=1),
    ),
    "google": state(
        "google_managed_kafka_topic",
        *topics("topic_id", "partition_count", "cluster", ("emea", "us"), replication_factor=1),
    ),
}


def read(text: str, cluster: str | None = None) -> ConversionResult:
    return read_all([SourceFile("source.yaml", text.encode())], cluster=cluster)


@pytest.mark.parametrize("name", FILES)
def test_entries_of_two_clusters_are_refused_unless_one_is_selected(name: str) -> None:
    [problem] = read(FILES[name]).problems
    assert "2 clusters: emea, us" in problem.message
    assert "--from-cluster" in problem.message
    for cluster, topic in (("emea", "one"), ("us", "two")):
        found = read(FILES[name], cluster)
        assert found.problems == ()
        assert [one.topic.name for one in found.topics] == [topic]
        assert any("on another cluster" in note.message for note in found.notes)
    [problem] = read(FILES[name], "apac").problems
    assert "emea, us" in problem.message


def test_access_is_on_the_cluster_of_its_user() -> None:
    assert not read(STRIMZI, "emea").access.acls
    assert read(STRIMZI, "us").access.acls


def test_the_clusters_of_all_files_are_compared() -> None:
    one, two = JIKKOU.split("\n---\n")
    found = read_all([SourceFile("one.yaml", one.encode()), SourceFile("two.yaml", two.encode())])
    assert "2 clusters: emea, us" in found.problems[0].message


def registries(**parts: tuple[str, int]) -> str:
    """Return a state with a topic of two clusters, and with a subject in each of these registries."""
    resources: list[tuple[str, dict[str, Any]]] = [
        ("confluent_kafka_topic", {"topic_name": "s", "partitions_count": 1, "kafka_cluster": [{"id": cluster}]})
        for cluster in ("lkc-prod", "lkc-dev")
    ]
    for registry, (schema, version) in parts.items():
        named = {"subject_name": "s-value", "schema_registry_cluster": [{"id": registry}]}
        resources.append(("confluent_schema", named | {"format": "AVRO", "schema": schema, "version": version}))
        resources.append(("confluent_subject_config", named | {"compatibility_level": "FULL"}))
    listed = [
        {"mode": "managed", "type": kind, "name": "r", "instances": [{"attributes": attributes}]}
        for kind, attributes in resources
    ]
    return json.dumps({"version": 4, "terraform_version": "1.9.0", "resources": listed})


@pytest.mark.parametrize("version", [3, 5])
def test_the_subject_of_another_registry_is_never_taken(version: int) -> None:
    state = registries(prod=('"string"', 3), dev=('"int"', version))
    found = read(state, "lkc-prod")
    assert not found.problems and not found.subjects
    assert [one.topic.name for one in found.topics] == ["s"]
    assert found.left_out == 4
    assert any("several Schema Registries" in note.message for note in found.notes)
    assert read(state.replace("lkc-dev", "lkc-prod").replace('"id": "dev"', '"id": ""')).left_out == 4
    for registry, schema in (("prod", '"string"'), ("dev", '"int"')):
        found = read(state, registry)
        assert (found.problems, found.topics, found.left_out) == ((), (), 0)
        assert [(one.name, one.schema.text, one.compatibility) for one in found.subjects] == [
            ("s-value", schema, Compatibility.FULL)
        ]


def test_the_subjects_of_the_only_registry_are_imported_with_any_cluster() -> None:
    found = read(registries(prod=('"string"', 3)), "lkc-prod")
    assert found.problems == ()
    assert [one.name for one in found.subjects] == ["s-value"]


def test_the_command_imports_the_selected_cluster(tmp_path: Path) -> None:
    root = project(tmp_path, {})
    (root / "topics").mkdir(exist_ok=True)
    (root / "source.yaml").write_text(STRIMZI)
    done = topicwarden("import", "--from", "source.yaml", cwd=root)
    assert done.code == 1
    assert "2 clusters: emea, us" in done.out
    done = topicwarden("import", "--from", "source.yaml", "--from-cluster", "emea", cwd=root)
    assert done.code == 0, done.out + done.err
    assert [path.name for path in (root / "topics").rglob("*.yaml")] == ["one.yaml"]
