"""Test that an import takes the value that the other tool applies, and no number that its file does not have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.command import project, topicwarden
from topicwarden.extensions.interchange.convert import ConversionResult, SourceFile, read_all
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.problem import Problem


def read(files: Mapping[str, str]) -> ConversionResult:
    return read_all([SourceFile(name, text.encode()) for name, text in files.items()])


def messages(problems: tuple[Problem, ...]) -> str:
    return "\n".join(problem.message for problem in problems)


JULIE = {
    "plans.yaml": 'plans:\n  standard:\n    config: {retention.ms: "86400000", max.message.bytes: "524288"}\n',
    "topology.yaml": "context: corp\nprojects:\n  - name: billing\n    consumers: [{principal: 'User:one'}]\n"
    "    topics:\n      - name: invoices\n        plan: standard\n        config:\n"
    '          {num.partitions: "3", replication.factor: "3", retention.ms: "2592000000"}\n',
}
JIKKOU = (
    "apiVersion: core.jikkou.io/v1beta2\nkind: ConfigMap\nmetadata: {name: TopicDefaults}\n"
    "data: {retention.ms: 86400000, min.insync.replicas: 2}\n---\n"
    "apiVersion: kafka.jikkou.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: ledger.entries}\n"
    "spec: {partitions: 3, replicas: 3, configMapRefs: [TopicDefaults], configs: {retention.ms: 31536000000}}\n"
)


def test_a_plan_of_julie_fills_in_only_what_the_topic_does_not_say() -> None:
    found = read(JULIE)
    assert found.problems == ()
    [converted] = found.topics
    assert dict(converted.topic.config) == {"retention.ms": "2592000000", "max.message.bytes": "524288"}


def test_a_config_map_of_jikkou_overrides_the_topic_with_a_warning() -> None:
    found = read({"topics.yaml": JIKKOU})
    [converted] = found.topics
    assert converted.topic.config["retention.ms"] == "86400000"
    assert "retention.ms" in messages(found.notes)
    assert "overridden" in messages(found.notes)


def test_an_ignored_config_map_of_jikkou_does_not_exist() -> None:
    text = JIKKOU.replace("{name: TopicDefaults}", "{name: TopicDefaults, annotations: {jikkou.io/ignore: true}}")
    assert "this file has no ConfigMap" in messages(read({"topics.yaml": text}).problems)


@pytest.mark.parametrize("order", [1, -1])
def test_the_default_replication_of_kafka_gitops_is_that_of_the_main_file(order: int) -> None:
    files = {
        "state.yaml": "settings: {files: {topics: topics.yaml}, topics: {defaults: {replication: 3}}}\n",
        "topics.yaml": "settings: {topics: {defaults: {replication: 2}}}\ntopics: {one: {partitions: 6}}\n",
    }
    [converted] = read(dict([*files.items()][::order])).topics
    assert converted.topic.replication_factor == 3


def test_principals_that_kafka_gitops_replaces_by_service_accounts_are_left_out() -> None:
    text = (
        "settings: {ccloud: {enabled: ENABLED}}\ntopics: {one: {partitions: 6, replication: 3}}\n"
        "services: {app: {type: application, principal: 'User:app', consumes: [one]}}\n"
    )
    found = read({"state.yaml": text.replace("ENABLED", "true")})
    assert (found.access.acls, found.left_out) == (frozenset(), 1)
    assert "service account" in messages(found.notes)
    assert read({"state.yaml": text.replace("ENABLED", "false")}).access.acls


@pytest.mark.parametrize(
    ("properties", "taken"),
    [
        ("bootstrap.servers=k:9092\n", True),
        ("topology.builder.access.control.class=com.purbon.kafka.topology.roles.CCloudAclsProvider\n", False),
        (
            "topology.builder.access.control.class=com.purbon.kafka.topology.roles.CCloudAclsProvider\n"
            "ccloud.service_account.translation.enabled=false\n",
            True,
        ),
        ("topology.translation.principal.enabled=true\n", False),
    ],
)
def test_principals_that_julie_translates_are_left_out(properties: str, taken: bool) -> None:
    found = read({**JULIE, "topology-builder.properties": properties})
    assert bool(found.access.acls) is taken
    assert (found.left_out > 0) is not taken


UNCOUNTED = {
    "specmesh": "asyncapi: 2.5.0\nid: 'urn:shop'\nchannels:\n  _public.closed: {publish: {}}\n",
    "asyncapi": "asyncapi: 3.0.0\nservers: {s: {host: k, protocol: kafka}}\nchannels: {c: {address: shop.closed}}\n",
    "odcs": "apiVersion: v3.0.2\nkind: DataContract\nschema: [{name: shop.closed, physicalType: topic}]\n",
    "strimzi": "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: shop.closed}\nspec: {}\n",
    "jikkou": "apiVersion: kafka.jikkou.io/v1\nkind: KafkaTopic\nmetadata: {name: shop.closed}\n"
    "spec: {partitions: -1, replicas: -1}\n",
    "redpanda": "apiVersion: cluster.redpanda.com/v1alpha2\nkind: Topic\nmetadata: {name: shop.closed}\nspec: {}\n",
    "topicctl": "meta: {name: shop.closed}\nspec: {}\n",
    "kdef": "apiVersion: v1\nkind: topic\nmetadata: {name: shop.closed}\nspec: {}\n",
    "kafka-gitops": "topics: {shop.closed: {configs: {}, partitions: null}}\n",
    "julie": "context: shop\nprojects: [{name: closed, topics: [{name: x}]}]\n",
    "terraform": '{"version": 4, "terraform_version": "1", "resources": [{"mode": "managed", "type": "kafka_topic",'
    ' "instances": [{"attributes": {"name": "shop.closed"}}]}]}\n',
    "create-topics": "KAFKA_CREATE_TOPICS=shop.closed:-1:-1\n",
}


@pytest.mark.parametrize("name", UNCOUNTED)
def test_no_number_is_invented_and_defaults_are_inherited_in_every_format(name: str, tmp_path: Path) -> None:
    root = project(tmp_path, {})
    (root / "topics").mkdir(exist_ok=True)
    (root / "source").write_text(UNCOUNTED[name])
    done = topicwarden("import", "--from", "source", cwd=root)
    assert done.code == 1, done.out + done.err
    assert "expected the partitions" in done.out
    assert "expected the replication factor" in done.out
    assert "_defaults.yaml" in done.out
    (root / "topics" / "_defaults.yaml").write_text("partitions: 6\nreplication_factor: 3\n")
    done = topicwarden("import", "--from", "source", cwd=root)
    assert done.code == 0, done.out + done.err
    [written] = [path for path in (root / "topics").rglob("*.yaml") if path.name != "_defaults.yaml"]
    assert "partitions:" not in written.read_text()
    assert "replication_factor:" not in written.read_text()


USER = (
    "---\napiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaUser\nmetadata: {name: billing}\nspec: {authorization: {"
    "type: simple, acls: [{resource: {type: topic, name: orders.paid}, operations: [Write, Describe, Create]}]}}\n"
)


@pytest.mark.parametrize("user", ["", USER], ids=["a file without access", "a file with access"])
def test_access_of_the_defaults_is_kept_unless_the_file_has_access(user: str, tmp_path: Path) -> None:
    text = "partitions: 1\nreplication_factor: 1\naccess: {consume: [User:monitor]}\n"
    topic = "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: orders.paid}\n"
    topic += "spec: {partitions: 2, replicas: 1}\n"
    root = project(tmp_path, {"topics/_defaults.yaml": text, "source.yaml": topic + user})
    done = topicwarden("import", "--from", "source.yaml", cwd=root)
    assert done.code == 0, done.out + done.err
    written = (root / "topics" / "orders" / "orders.paid.yaml").read_text()
    assert ("consume: []" in written, "- User:billing" in written) == ((True, True) if user else (False, False))


@pytest.mark.parametrize(("written", "number"), [(None, 8192), (4096, 4096)])
def test_the_iterations_of_a_user_are_those_that_jikkou_applies(written: int | None, number: int) -> None:
    iterations = f", iterations: {written}" if written else ""
    text = (
        "apiVersion: kafka.jikkou.io/v1\nkind: KafkaUser\nmetadata: {name: u}\n"
        f"spec: {{authentications: [{{type: scram-sha-512{iterations}}}]}}\n"
    )
    [user] = (read({"users.yaml": text}).access.part(USERS) or {}).values()
    assert user.iterations == number


def test_iterations_that_are_no_number_are_a_problem() -> None:
    text = (
        "apiVersion: kafka.jikkou.io/v1\nkind: KafkaUser\nmetadata: {name: u}\n"
        "spec: {authentications: [{type: scram-sha-512, iterations: many}]}\n"
    )
    assert "iterations" in messages(read({"users.yaml": text}).problems)
