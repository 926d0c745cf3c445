"""Test that a plan finds consumer groups of both protocols, including groups without committed offsets."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.engine.predictions.conftest import deployment, one
from tests.support.clients import commit, until
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.sandbox.local_cluster import Sandbox
from topicwarden.sandbox.scenarios.writer import writing

_TOPIC = "{owner: team, partitions: 1, replication_factor: 3, config: {retention.ms: 7d}}\n"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_active_groups_are_counted_whether_or_not_they_commit(
    sandbox: Sandbox, servers: list[str], cluster: Cluster, tmp_path: Path, protocol: str
) -> None:
    name = f"read-{protocol}.v1"
    project = deployment(tmp_path / "read", {f"read/{name}.yaml": _TOPIC, "read/beside.v1.yaml": _TOPIC})
    with writing(servers) as writer:
        for number in range(5):
            writer.send(name, f"k{number}", "v")
    commit(servers, f"gone-{protocol}", {(name, 0): 3})
    settings = {"bootstrap.servers": ",".join(servers), "group.protocol": protocol, "auto.offset.reset": "earliest"}
    consumers = [
        Consumer({**settings, "group.id": f"{kind}-{protocol}", "enable.auto.commit": False})
        for kind in ("commits", "silent")
    ]
    try:
        for consumer in consumers:
            consumer.subscribe([name])
            message = consumer.poll(30)
            assert message is not None and message.error() is None
        consumers[0].commit(offsets=[TopicPartition(name, 0, 1)], asynchronous=False)
        until(lambda: {g.name: g.members for g in cluster.groups([name])} == expected(protocol), "both have joined")
        project.remove(f"read/{name}.yaml")
        destroyed = one(project.plan(), name, "destroyed")
    finally:
        for consumer in consumers:
            consumer.close()
    assert destroyed.evidence["active_groups"] == 2
    assert any(f"commits-{protocol}, gone-{protocol}, silent-{protocol}" in reason for reason in destroyed.because)
    unread = {(effect.group, effect.records, effect.members) for effect in destroyed.groups}
    assert unread == {(f"gone-{protocol}", 2, 0), (f"commits-{protocol}", 4, 1)}


def expected(protocol: str) -> dict[str, int]:
    return {f"commits-{protocol}": 1, f"silent-{protocol}": 1, f"gone-{protocol}": 0}
