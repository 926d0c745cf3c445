"""Test that the command and the engine refuse to revoke access that clients use, until the YAML allows it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from kafka import KafkaAdminClient

from tests.support.access_clients import TOPIC, clients
from tests.support.clients import until
from tests.support.projects import Shell, empty_stack, project_of
from tests.support.restricted_user import RestrictedCluster, rule
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.authorizer_reads import list_acls
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.access import Acl
from topicwarden.model.project import Project

OF_USER = [rule("All", resource) for resource in ("Topic", "Group", "TransactionalId")]
OF_USER += [rule("All", "Cluster", "kafka-cluster")]
DECLARED = """{owner: team, partitions: 1, replication_factor: 1, access: {
  produce: [{principal: 'User:orders', transactional_id: orders-, prefix: true}],
  consume: [{principal: 'User:billing', group: billing}]}}
"""
WITHOUT = "{owner: team, partitions: 1, replication_factor: 1%s}\n"


@pytest.fixture
def restricted(cluster: RestrictedCluster) -> Iterator[RestrictedCluster]:
    with cluster.granted(OF_USER):
        yield cluster


def acls_of_applications(cluster: RestrictedCluster) -> set[Acl]:
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        return {acl for acl in list_acls(admin).acls if acl not in OF_USER}


def assigned(project: Project) -> bool:
    with open_cluster(connect_to(project, "dev")) as cluster:
        return any(group.assigned for group in cluster.groups([TOPIC]))


def run(shell: Shell, command: str) -> tuple[int, str]:
    done = shell.in_process(*command.split(), "--stack", "dev")
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout


def test_access_in_use_is_revoked_only_if_the_yaml_allows_it(restricted: RestrictedCluster, tmp_path: Path) -> None:
    project = project_of(tmp_path, {f"{TOPIC}.yaml": DECLARED}, restricted.settings)
    shell, topic = empty_stack(project, tmp_path / "state"), project.topics / f"{TOPIC}.yaml"
    code, printed = run(shell, "up --yes")
    assert code == 0, printed
    assert len(before := acls_of_applications(restricted)) == 4
    with clients(restricted) as producer:
        until(lambda: assigned(project), "the group has joined")
        topic.write_text(WITHOUT % "", encoding="utf-8")
        stops = f"revoking Read on Topic {TOPIC}, Group billing from User:billing stops group billing: active, 1 member"
        code, planned = run(shell, "plan")
        assert code == 1
        assert "refused access-lost: revoking Write on Topic orders.v1, TransactionalId orders-1" in planned
        assert stops in " ".join(planned.split())
        code, planned = run(shell, "plan --format json")
        access = json.loads(planned)["access"]
        assert [each["severity"] for each in access["consequences"]] == ["refused", "refused"]
        assert [each["action"] for each in access["items"]] == ["delete"] * 4
        assert access["principals"][0] == {
            "principal": "User:billing",
            "gains": [],
            "loses": ["Read on Group billing", f"Read on Topic {TOPIC}"],
        }
        assert access["foreign"] == {"ACL": len(OF_USER)}
        code, printed = run(shell, "up --yes")
        assert code == 1
        done = shell.run("pulumi", "up", "--yes", "--skip-preview", "--non-interactive")
        assert done.returncode != 0
        assert stops in " ".join(done.stdout.split())
        assert acls_of_applications(restricted) == before

        topic.write_text(WITHOUT % ", allow: [revoke-access]", encoding="utf-8")
        code, planned = run(shell, "plan")
        assert code == 0, planned
        assert f"allowed {TOPIC}: revoke-access without an end date; this plan needs it" in planned
        code, printed = run(shell, "up --yes")
        assert code == 0, printed
        assert acls_of_applications(restricted) == set()
        with pytest.raises(KafkaException, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
            producer.commit_transaction(60)
