"""Test that a warning about access that is not imported is at its line, and takes nothing else with it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.command import Outcome, project, topicwarden
from topicwarden.extensions.interchange.convert import SourceFile, read_all
from topicwarden.model.access import PermissionType

STRIMZI_TOPIC = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic\nmetadata: {name: NAME}\n"
STRIMZI_TOPIC += "spec: {partitions: 1, replicas: 1}\n---\n"
STRIMZI = (
    "apiVersion: kafka.strimzi.io/v1\nkind: KafkaUser\nmetadata: {name: billing}\nspec:\n"
    "  authorization:\n    type: simple\n    acls:\n"
    "      - {resource: {type: topic, name: orders}, operations: [Read], host: host.example}\n"
    "  quotas:\n    producerByteRate: 1048576\n    consumerByteRate: 0\n    requestPercentage: 55\n"
)
JIKKOU = (
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalAuthorization\nmetadata: {name: 'User:billing'}\nspec:\n"
    "  acls:\n"
    "    - {resource: {type: topic, pattern: orders}, operations: [READ], host: host.example}\n---\n"
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaClientQuota\nspec:\n  type: USER\n  entity: {user: billing}\n"
    "  configs:\n    producerByteRate: 1048576\n    consumerByteRate: 0\n    requestPercentage: 55\n"
)
GITOPS = "services:\n  a:\n    type: application\n    principal: nobody\n    produces:\n      - orders\n"
RATES = {"producer_byte_rate": 1048576, "consumer_byte_rate": 0, "request_percentage": 55}
TERRAFORM = {
    "version": 4,
    "terraform_version": "1.9.0",
    "resources": [
        {
            "mode": "managed",
            "type": "kafka_quota",
            "instances": [{"attributes": {"entity_name": "billing", "entity_type": "user", "config": RATES}}],
        }
    ],
}
BAD_RATE = "not imported: expected at least 1, got 0: NAME of quota of user billing"
BAD_RATES = {
    "strimzi.yaml": (STRIMZI, "consumerByteRate", 11),
    "jikkou.yaml": (JIKKOU, "consumerByteRate", 15),
    "terraform.tfstate": (json.dumps(TERRAFORM, indent=1), "consumer_byte_rate", 15),
}
BAD_ENTRIES = {
    "strimzi.yaml": (STRIMZI, "8:62"),
    "jikkou.yaml": (JIKKOU, "6:63"),
    "gitops.yaml": (GITOPS, "6:9"),
}


def run(root: Path, name: str, text: str, *options: str) -> Outcome:
    (project(root / "project", {}) / "topics").mkdir()
    (root / name).write_text(text)
    return topicwarden("import", "--from", f"../{name}", *options, cwd=root / "project")


@pytest.mark.parametrize("name", BAD_RATES)
def test_an_invalid_rate_is_named_and_the_valid_rates_are_imported(name: str, tmp_path: Path) -> None:
    text, key, line = BAD_RATES[name]
    done = run(tmp_path, name, text)
    assert done.code == 1, done.out + done.err
    message = BAD_RATE.replace("NAME", key)
    assert re.search(rf"^\.\./{name}:{line}:\d+: warning: {message}", done.err, re.MULTILINE), done.err
    written = (tmp_path / "project" / "access" / "imported.yaml").read_text()
    assert "- {user: billing, producer_byte_rate: 1MiB, request_percentage: 55}" in written


@pytest.mark.parametrize("name", BAD_ENTRIES)
def test_a_warning_about_access_is_at_its_line(name: str, tmp_path: Path) -> None:
    text, position = BAD_ENTRIES[name]
    done = run(tmp_path, name, text)
    assert done.code == 1, done.out + done.err
    assert f"../{name}:{position}: warning: not imported: " in done.err
    assert "1:1" not in done.err


def test_each_topic_that_is_left_out_is_named_with_its_line(tmp_path: Path) -> None:
    unmanaged = STRIMZI_TOPIC.replace("}\nspec", ", annotations: {strimzi.io/managed: 'false'}}\nspec")
    text = "".join(unmanaged.replace("NAME", name) for name in ("a", "b")) + STRIMZI_TOPIC.replace("NAME", "kept")
    done = run(tmp_path, "topics.yaml", text)
    assert done.code == 1, done.out + done.err
    assert "a (strimzi.io/managed: false), b (strimzi.io/managed: false) at line 6" in done.err


def test_access_of_an_authorization_that_has_no_acls_is_left_out_by_name(tmp_path: Path) -> None:
    user = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaUser\nmetadata: {name: billing}\nspec:\n"
    user += "  authentication: {type: scram-sha-512}\n  authorization: {type: custom}\n"
    done = run(tmp_path, "user.yaml", user)
    assert done.code == 1, done.out + done.err
    message = 'access that another type of authorization than simple grants, so not imported: billing ("custom")'
    assert f"../user.yaml:6:25: warning: {message}" in done.err
    assert "users:" in (tmp_path / "project" / "access" / "imported.yaml").read_text()


ROLE_ACL = "{resource: {type: topic, pattern: secrets}, type: DENY, operations: [READ]}"
JIKKOU_ROLE = (
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalRole\nmetadata: {name: no-secrets}\n"
    f"spec: {{acls: [{ROLE_ACL}]}}\n"
)
JIKKOU_HOLDER = (
    "apiVersion: kafka.jikkou.io/v1\nkind: KafkaPrincipalAuthorization\nmetadata: {name: 'User:bob'}\n"
    f"spec: {{roles: [no-secrets], acls: [{ROLE_ACL.replace('DENY', 'ALLOW')}]}}\n"
)


@pytest.mark.parametrize("holder", [JIKKOU_HOLDER, re.sub(", acls.*", "}", JIKKOU_HOLDER)])
@pytest.mark.parametrize("order", [1, -1])
def test_a_role_of_jikkou_grants_and_denies_in_all_files_of_an_import(holder: str, order: int) -> None:
    together = read_all([SourceFile("all.yaml", f"{JIKKOU_ROLE}---\n{holder}".encode())])
    files = [SourceFile("role.yaml", JIKKOU_ROLE.encode()), SourceFile("holder.yaml", holder.encode())]
    apart = read_all(files[::order])
    assert apart.problems == apart.notes == together.problems == ()
    assert apart.access.acls == together.access.acls
    assert PermissionType.DENY in {acl.permission for acl in apart.access.acls or ()}


def test_a_role_of_jikkou_that_no_file_has_is_a_problem() -> None:
    [problem] = read_all([SourceFile("holder.yaml", JIKKOU_HOLDER.encode())]).problems
    assert str(problem.location) == "holder.yaml:4:16"
    assert 'there is no KafkaPrincipalRole "no-secrets"' in problem.message
    assert "--from" in problem.message


def test_a_role_of_jikkou_that_no_principal_has_is_named() -> None:
    text = f"{JIKKOU_ROLE}---\n{JIKKOU_HOLDER}---\n{JIKKOU_ROLE.replace('no-secrets', 'unused')}"
    [note] = read_all([SourceFile("all.yaml", text.encode())]).notes
    assert note.message == "no principal in these files has it, so not imported: KafkaPrincipalRole unused"


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ("true", "producerByteRate: expected a number, got true"),
        ("false", "producerByteRate: expected a number, got false"),
        ("010", "expected no leading zero, got 010: YAML 1.1 reads 8, YAML 1.2 reads 10; write the intended number"),
    ],
)
def test_a_rate_that_is_no_plain_number_is_a_problem(rate: str, message: str) -> None:
    text = STRIMZI.replace("1048576", rate).replace("consumerByteRate: 0", "consumerByteRate: 1")
    found = read_all([SourceFile("user.yaml", text.encode())])
    assert message in [problem.message for problem in found.problems]


@pytest.mark.parametrize("text", [STRIMZI.replace(", operations: [Read]", ""), STRIMZI.replace("[Read]", "[]")])
def test_an_acl_of_strimzi_without_an_operation_is_a_problem(text: str) -> None:
    [problem] = read_all([SourceFile("user.yaml", text.encode())]).problems
    assert problem.message.startswith("operations: expected at least one operation, got none")
    assert str(problem.location).startswith("user.yaml:8:")


@pytest.mark.parametrize("operations", ["operations: []", "host: '*'"])
def test_an_acl_of_jikkou_without_an_operation_is_a_problem(operations: str) -> None:
    text = JIKKOU.replace("operations: [READ], host: host.example", operations)
    [problem] = read_all([SourceFile("jikkou.yaml", text.encode())]).problems
    assert problem.message.startswith("operations: expected at least one operation, got none")
