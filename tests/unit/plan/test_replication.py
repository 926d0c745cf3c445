"""Test the cost of a change of the replication factor, as far as the brokers report it."""

from __future__ import annotations

import pytest

from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.model.topic import Topic
from topicwarden.plan.consequences import replication
from topicwarden.plan.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.plan.placement.replica_placement import ReplicaMove, ReplicaPlacement
from topicwarden.plan.plan_evidence import PlanEvidence
from topicwarden.plan.topic_change import changes
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument


@pytest.mark.parametrize(
    ("log_bytes", "copied", "said"),
    [(700, 700, "copies 700 bytes"), (0, 0, "copies 0 bytes"), (None, None, "did not report the size of all logs")],
)
def test_a_log_of_unknown_size_is_not_copied_in_no_time(log_bytes: int | None, copied: int | None, said: str) -> None:
    extents = {0: PartitionExtent(0, 10, 10, None, None, log_bytes)}
    live = LiveTopic(Topic("t", 1, 1), "id", {"a": "DEFAULT_CONFIG"}, (PartitionReplicas(0, 1, (1,), (1,)),), extents)
    snapshot = Snapshot("c", 0, {1: None, 2: None}, {}, {"t": live})
    held = Declaration(Topic("t", 1, 2), SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))
    (change,) = changes([held], DeployedStack({"t": DeployedTopic("t", 1, 1, {})}), snapshot)
    placement = ReplicaPlacement((ReplicaMove("t", 0, (1,), (1, 2), 1, log_bytes),))
    (found,) = replication.evaluate(change, PlanEvidence(snapshot, placement))
    assert said in found.message
    assert (found.evidence["bytes"], found.evidence["bytes to broker 2"]) == (copied, copied)
