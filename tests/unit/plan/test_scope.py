"""Test which cluster a stack may be deployed to, and what a plan says of topics that left the stack."""

from __future__ import annotations

import pytest

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionReplicas, Snapshot
from topicwarden.model.planned_change import Severity
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.consequences import destroyed, outside_scope
from topicwarden.plan.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.plan.plan_evidence import PlanEvidence
from topicwarden.plan.topic_change import changes
from topicwarden.stacks.stack_scope import EVERY_TOPIC, StackScope


@pytest.mark.parametrize("scope", [StackScope(("orders.*", "!t")), StackScope(("t",)), EVERY_TOPIC])
def test_no_allowance_allows_deleting_a_topic_of_another_team(scope: StackScope) -> None:
    allowed = Topic("t", 1, 1, allow=frozenset({Allowance(AllowedChange.DELETE)}))
    live = LiveTopic(Topic("t", 1, 1), "id", {"retention.ms": "DEFAULT_CONFIG"}, (PartitionReplicas(0, 1, (1,), (1,)),))
    snapshot = Snapshot("c", 0, {1: None}, {}, {"t": live})
    (change,) = changes([], DeployedStack({"t": DeployedTopic("t", 1, 1, {}, allowed)}), snapshot, scope)
    rules = [rule for rule in (destroyed, outside_scope) if rule.needs(change, 0) is not None]
    found = [(each.kind, each.severity) for rule in rules for each in rule.evaluate(change, PlanEvidence(snapshot))]
    owned = scope.owns("t")
    assert found == [("destroyed", Severity.DANGER) if owned else ("outside-scope", Severity.REFUSED)]


def judged(
    before: str | None, now: str | None, *, moved_to: str | None = None, sandbox: bool = False, there: bool = True
) -> str | None:
    live = {"t": LiveTopic(Topic("t", 1, 1), "id", {}, ())} if there else {}
    return check_cluster(
        "prod",
        Connection(("localhost:1",), sandbox=sandbox, moved_to=moved_to),
        DeployedStack({"t": DeployedTopic("t", 1, 1, {})}, before),
        Snapshot(now, 0, {}, {}, live),
    )


def test_topic_recreated_needs_both_ids() -> None:
    assert judged(None, "b") is None
    assert judged("a", None) is None
    assert judged("a", "a") is None


@pytest.mark.parametrize("there", [True, False])
def test_another_cluster_is_refused(there: bool) -> None:
    with pytest.raises(
        Refusal, match="stack prod was deployed to cluster a, but kafka:bootstrapServers leads to cluster b"
    ):
        judged("a", "b", there=there)


def test_a_recreated_sandbox_is_only_a_remark_if_it_has_nothing_of_the_stack() -> None:
    assert "is a new cluster" in (judged("a", "b", sandbox=True, there=False) or "")
    with pytest.raises(Refusal, match="topicwarden:cluster: sandbox leads to cluster b"):
        judged("a", "b", sandbox=True)


def test_a_stack_declares_its_move_with_the_id_of_the_new_cluster() -> None:
    assert "moves from cluster a to b" in (judged("a", "b", moved_to="b") or "")
    assert "is no longer needed" in (judged("b", "b", moved_to="b") or "")
    for before in ("a", "b"):
        with pytest.raises(Refusal, match="says that the stack moved to cluster c, but kafka:bootstrapServers"):
            judged(before, "b", moved_to="c")
