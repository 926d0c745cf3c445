"""Test what a plan says of topics that left the YAML and the scope of their stack."""

from __future__ import annotations

import pytest

from topicwarden.kafka.read.snapshot import LiveTopic, PartitionReplicas, Snapshot
from topicwarden.model.planned_change import Severity
from topicwarden.model.topic import Allowance, Permission, Topic
from topicwarden.plan.consequences import destroyed, outside_scope
from topicwarden.plan.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.plan.plan_evidence import PlanEvidence
from topicwarden.plan.topic_change import changes
from topicwarden.stacks.stack_scope import EVERY_TOPIC, StackScope


@pytest.mark.parametrize("scope", [StackScope(("orders.*", "!t")), StackScope(("t",)), EVERY_TOPIC])
def test_no_word_allows_the_deletion_of_a_topic_of_another_team(scope: StackScope) -> None:
    permitted = Topic("t", 1, 1, allow=frozenset({Permission(Allowance.DELETE)}))
    live = LiveTopic(Topic("t", 1, 1), "id", {"retention.ms": "DEFAULT_CONFIG"}, (PartitionReplicas(0, 1, (1,), (1,)),))
    snapshot = Snapshot("c", 0, {1: None}, {}, {"t": live})
    (change,) = changes([], DeployedStack({"t": DeployedTopic("t", 1, 1, {}, permitted)}), snapshot, scope)
    rules = [rule for rule in (destroyed, outside_scope) if rule.needs(change, 0) is not None]
    found = [(each.kind, each.weight) for rule in rules for each in rule.evaluate(change, PlanEvidence(snapshot))]
    owned = scope.owns("t")
    assert found == [("destroyed", Severity.DANGER) if owned else ("outside-scope", Severity.REFUSED)]
