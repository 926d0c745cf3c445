"""Test a deploy that a real cluster partly refuses: everything else is deployed, and the next run continues."""

from __future__ import annotations

from pathlib import Path

from kafka import KafkaAdminClient

from tests.engine.permissions.scenes import Deployed, deployed
from tests.support.restricted_user import RestrictedCluster, rule
from tests.support.stack_state import resources_in_state
from topicwarden.model.access import Acl

NUMBER = 30
SEEN = ("Describe", "DescribeConfigs")
GRANTED = [
    rule("All", "Topic", "half.good", pattern="Prefixed"),
    *(rule(operation, "Topic", "half.bad", pattern="Prefixed") for operation in SEEN),
    *(rule(operation, "Cluster", "kafka-cluster") for operation in (*SEEN, "Alter", "AlterConfigs")),
    *(rule("Describe", resource) for resource in ("Group", "TransactionalId")),
]


def test_allowed_topics_are_created_and_each_refusal_is_reported_once(cluster: RestrictedCluster, folder: Path) -> None:
    stack = deployed(cluster, folder / "half")
    names = {kind: {f"half.{kind}{number:02}.v1" for number in range(NUMBER)} for kind in ("good", "bad")}
    documents = [
        f"{{topic: {name}, owner: team, partitions: 1, replication_factor: 1}}\n"
        for name in sorted(names["good"] | names["bad"])
    ]
    (stack.project.topics / "all.yaml").write_text("---\n".join(documents), encoding="utf-8")
    code, output = up(stack, GRANTED)
    assert code == 1, output
    assert live(cluster) == in_state(stack) == names["good"]
    _, _, diagnostics = output.partition("Diagnostics:")
    for name in names["bad"]:
        (line,) = (line for line in diagnostics.splitlines() if f"{name}: Kafka denies this user the change" in line)
        assert "topics/all.yaml:" in line
        assert line.endswith("grant Create on the topic")
    code, output = up(stack, [*GRANTED, rule("Create", "Topic", "half.bad", pattern="Prefixed")])
    assert code == 0, output
    assert live(cluster) == in_state(stack) == names["good"] | names["bad"]


def up(stack: Deployed, granted: list[Acl]) -> tuple[int, str]:
    with stack.cluster.granted(granted):
        done = stack.shell.in_process("up", "--stack", "dev", "--yes")
    return done.returncode, done.stdout


def live(cluster: RestrictedCluster) -> set[str]:
    with KafkaAdminClient(bootstrap_servers=cluster.servers) as admin:
        return {topic for topic in admin.list_topics() if topic.startswith("half.")}


def in_state(stack: Deployed) -> set[str]:
    return {each["id"] for each in resources_in_state(stack.shell) if each["type"] == "kafka:index/topic:Topic"}
