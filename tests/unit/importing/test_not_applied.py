"""Test that an import declares only what the other tool applies: nothing deleted, ignored, paused or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import project, topicwarden
from topicwarden.extensions.interchange.convert import ConversionResult, SourceFile, read_all
from topicwarden.model.access import Operation

ACLS = (
    "spec: {acls: [{resource: {type: topic, pattern: 'pay.', patternType: PREFIXED}, type: ALLOW,"
    " operations: [READ, WRITE], host: '*'}]}\n"
)
JIKKOU = (
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalAuthorization\n"
    f"metadata: {{name: 'User:old-batch', annotations: {{jikkou.io/MARK: true}}}}\n{ACLS}---\n"
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaUser\n"
    "metadata: {name: old-user, annotations: {jikkou.io/MARK: 'true'}}\n"
    "spec: {authentications: [{type: scram-sha-512, iterations: 8192, password: hunter2}]}\n---\n"
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaClientQuota\nmetadata: {annotations: {jikkou.io/MARK: true}}\n"
    "spec: {type: USER, entity: {user: old-user}, configs: {producerByteRate: 1}}\n---\n"
    "apiVersion: schemaregistry.jikkou.io/v1\nkind: SchemaRegistrySubject\n"
    "metadata: {name: gone-value, annotations: {jikkou.io/MARK: true}}\n"
    "spec: {schemaType: AVRO, schema: '\"string\"'}\n---\n"
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaTopic\nmetadata: {name: gone, annotations: {jikkou.io/MARK: true}}\n"
    "spec: {partitions: 1, replicas: 1}\n"
)
ROLE = (
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalRole\n"
    f"metadata: {{name: reader, annotations: {{jikkou.io/ROLE: true}}}}\n{ACLS}---\n"
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalAuthorization\n"
    "metadata: {name: 'User:one', annotations: {jikkou.io/PRINCIPAL: true}}\nspec: {roles: [reader]}\n"
)
STRIMZI = (
    "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata: {name: orders, TOPIC}\n"
    "spec: {partitions: 1, replicas: 1}\nTOPIC_STATUS\n---\n"
    "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaUser\nmetadata: {name: billing, USER}\n"
    "spec:\n  authentication: {type: scram-sha-512}\n  quotas: {producerByteRate: 1}\n"
    "  authorization: {type: simple, acls: [{resource: {type: topic, name: orders}, operations: [Read]}]}\n"
    "USER_STATUS\n"
)
NOT_READY = "status: {conditions: [{type: Ready, status: 'False', reason: KafkaError}]}"
MARKS = {
    "unmanaged": ("annotations: {strimzi.io/managed: 'false'}", ""),
    "paused": ("annotations: {strimzi.io/pause-reconciliation: 'true'}", ""),
    "not ready": ("labels: {a: b}", NOT_READY),
}
DELETED = "deletionTimestamp: '2026-01-01T00:00:00Z'"


def read(text: str, *, include_unmanaged: bool = False) -> ConversionResult:
    found = read_all([SourceFile("source.yaml", text.encode())], include_unmanaged=include_unmanaged)
    assert found.problems == ()
    return found


def declared(found: ConversionResult) -> int:
    parts = (part or () for part in found.access.parts.values())
    return sum(map(len, (found.topics, found.subjects, *parts)))


def strimzi(topic: tuple[str, str], user: tuple[str, str]) -> str:
    text = STRIMZI.replace("TOPIC_STATUS", topic[1]).replace("USER_STATUS", user[1])
    return text.replace("TOPIC", topic[0]).replace("USER", user[0])


@pytest.mark.parametrize("mark", ["delete", "ignore"])
def test_nothing_that_jikkou_deletes_or_ignores_is_declared(mark: str) -> None:
    found = read(JIKKOU.replace("MARK", mark))
    assert declared(found) == 0
    notes = " ".join(note.message for note in found.notes)
    for name in ("User:old-batch", "old-user", "KafkaClientQuota", "gone-value", "gone"):
        assert name in notes, notes


def test_only_ignored_entries_are_included_on_request() -> None:
    assert declared(read(JIKKOU.replace("MARK", "ignore"), include_unmanaged=True)) == 6
    assert declared(read(JIKKOU.replace("MARK", "delete"), include_unmanaged=True)) == 0


@pytest.mark.parametrize("marks", [("delete", "x"), ("x", "delete"), ("ignore", "x"), ("x", "ignore")])
def test_a_role_that_is_not_applied_grants_nothing(marks: tuple[str, str]) -> None:
    role, principal = marks
    assert declared(read(ROLE.replace("ROLE", role).replace("PRINCIPAL", principal))) == 0
    assert declared(read(ROLE.replace("ROLE", "x").replace("PRINCIPAL", "x"))) == 2


@pytest.mark.parametrize("mark", MARKS)
def test_strimzi_topics_and_users_that_are_not_applied_are_left_out(mark: str) -> None:
    both = strimzi(MARKS[mark], MARKS["paused" if mark == "unmanaged" else mark])
    found = read(both)
    assert (declared(found), found.left_out) == (0, 2)
    assert "--include-unmanaged" in found.notes[0].message
    assert declared(read(both, include_unmanaged=True)) == 4


def test_a_strimzi_resource_that_is_being_deleted_is_never_declared() -> None:
    found = read(strimzi((DELETED, ""), (DELETED, "")), include_unmanaged=True)
    assert (declared(found), found.left_out) == (0, 0)


def test_a_topic_of_redpanda_that_is_not_ready_is_left_out() -> None:
    text = (
        "apiVersion: cluster.redpanda.com/v1alpha2\nkind: Topic\nmetadata: {name: orders}\n"
        f"spec: {{partitions: 1, replicationFactor: 1}}\n{NOT_READY}\n"
    )
    assert (declared(read(text)), read(text).left_out) == (0, 1)
    assert declared(read(text, include_unmanaged=True)) == 1


def test_a_retired_data_contract_declares_no_topic() -> None:
    text = (
        "apiVersion: v3.0.2\nkind: DataContract\nid: a\nversion: 1.0.0\nstatus: STATUS\n"
        "schema: [{name: orders, physicalType: topic, customProperties: "
        "[{property: partitions, value: 1}, {property: replicationFactor, value: 1}]}]\n"
    )
    assert declared(read(text.replace("STATUS", "active"))) == 1
    assert declared(read(text.replace("STATUS", "retired"))) == 0


def test_a_deny_that_jikkou_ignores_takes_the_allows_that_it_limits_with_it() -> None:
    text = (
        "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalAuthorization\n"
        "metadata: {name: 'User:one', annotations: {jikkou.io/ignore: true}}\n"
        "spec: {acls: [{resource: {type: topic, pattern: pay.salaries}, type: DENY, operations: [ALL]}]}\n---\n"
        "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalAuthorization\nmetadata: {name: 'User:one'}\n"
        "spec: {acls: [{resource: {type: topic, pattern: pay., patternType: PREFIXED}, operations: [READ]},"
        " {resource: {type: topic, pattern: logs}, operations: [READ]}]}\n"
    )
    found = read(text)
    assert [acl.resource_name for acl in found.access.acls or ()] == ["logs"]
    assert found.left_out == 2
    assert {acl.operation for acl in read(text, include_unmanaged=True).access.acls or ()} == {
        Operation.ALL,
        Operation.READ,
    }


def test_the_exit_code_says_that_an_entry_was_left_out(tmp_path: Path) -> None:
    (project(tmp_path, {}) / "topics").mkdir(exist_ok=True)
    (tmp_path / "source.yaml").write_text(strimzi(MARKS["unmanaged"], ("labels: {a: b}", "")))
    done = topicwarden("import", "--from", "source.yaml", cwd=tmp_path)
    assert done.code == 1, done.out + done.err
    assert "1 entry was left out" in done.err
    assert not list((tmp_path / "topics").rglob("orders*"))
    done = topicwarden("import", "--from", "source.yaml", "--include-unmanaged", cwd=tmp_path)
    assert done.code == 0, done.out + done.err
    assert list((tmp_path / "topics").rglob("orders*"))
