"""Test what a plan says once, about all topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.model.topic import Topic
from topicwarden.plan import predict as module
from topicwarden.plan.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.plan.plan_evidence import PlanEvidence


class _Unchanging:
    def with_extents(self, snapshot: Snapshot, topics: Iterable[str]) -> Snapshot:
        return snapshot


def test_share_groups_whose_topics_nobody_reports_are_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = (PartitionReplicas(0, 1, (1,), (1,)),)
    live = {
        name: LiveTopic(Topic(name, 1, 1), name, {}, replicas, {0: PartitionExtent(0, 9, 9, 0, 8, 100)})
        for name in ("a", "b")
    }
    snapshot = Snapshot("c", 0, {1: None}, {1: {}}, live, frozenset())

    def gather(cluster: Any, snapshot: Snapshot, needed: Mapping[str, Any]) -> dict[str, PlanEvidence]:
        return {name: PlanEvidence(snapshot, share_groups=("sharing",)) for name in needed}

    monkeypatch.setattr(module, "gather", gather)
    deployed = DeployedStack({name: DeployedTopic(name, 1, 1, {}, None, None) for name in live})
    found = module.predict(cast("Cluster", _Unchanging()), snapshot, [], deployed)
    (remark,) = found.remarks
    assert remark.startswith("the cluster has share groups (sharing), but no broker reports which topics they read")
    reasons = [reason for plan in found.plans for each in plan.consequences for reason in each.because]
    assert [reason for reason in reasons if "share groups" in reason] == []
    assert [plan.topic for plan in found.plans] == ["a", "b"]
