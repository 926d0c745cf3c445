"""Test the scope of a plan, its remarks, and its comparison with the steps of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.kinds.topic import predict as of_topics
from topicwarden.kinds.topic.change import changes
from topicwarden.kinds.topic.consequences import destroyed, outside_scope
from topicwarden.kinds.topic.evidence import PlanEvidence
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.planned_change import Action, PlanReport, PlanSection, PreviewResult, Severity, TopicPlan
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.plan import predict as module
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.engine_steps import EngineStep, ResourceNames, with_unpredicted, with_unpredicted_steps
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope

# Test that an engine step that the plan does not predict is refused.


def on_topic(name: str, op: str, urn: str) -> EngineStep:
    return EngineStep(op, urn, "kafka:index/topic:Topic", properties={"name": name})


def severity(action: Action | None, op: str, live: bool = True) -> Severity | None:
    plans = [] if action is None else [TopicPlan(topic="t", action=action)]
    found = with_unpredicted(plans, [on_topic("t", op, "urn")], {"t"} if live else set())
    return found[0].severity if found else None


@pytest.mark.parametrize(
    ("action", "op"),
    [
        (Action.CREATE, "create"),
        (Action.ADOPT, "import"),
        (Action.ADOPT, "update"),
        (Action.UPDATE, "update"),
        (Action.RECREATE, "delete-replaced"),
        (Action.RECREATE, "create-replacement"),
        (Action.DELETE, "delete"),
    ],
)
def test_predicted_losses_pass(action: Action, op: str) -> None:
    assert severity(action, op) is None


@pytest.mark.parametrize(
    ("action", "op"),
    [
        (action, op)
        for action in (None, Action.DRIFT, Action.MOVE, Action.CREATE, Action.ADOPT)
        for op in ("delete", "delete-replaced", "replace", "update", "discard", "import-replacement")
        if (action, op) != (Action.ADOPT, "update")
    ],
)
def test_other_values_are_refused(action: Action | None, op: str) -> None:
    assert severity(action, op) is Severity.REFUSED


@pytest.mark.parametrize(
    ("action", "op"), [(Action.UPDATE, "delete-replaced"), (Action.RECREATE, "delete"), (Action.DELETE, "replace")]
)
def test_a_deletion_of_another_kind_is_refused(action: Action, op: str) -> None:
    assert severity(action, op) is Severity.REFUSED


def test_creating_a_missing_topic_loses_nothing() -> None:
    assert severity(Action.DRIFT, "create-replacement", live=False) is None
    assert severity(None, "delete", live=False) is Severity.REFUSED


def test_the_refusal_names_the_step_and_the_resource_and_comes_once() -> None:
    steps = [on_topic("b", "delete", "urn:b"), on_topic("b", "delete", "urn:b2"), on_topic("a", "discard", "urn:a")]
    plans = with_unpredicted([TopicPlan(topic="c", action=Action.CREATE)], steps, {"a", "b"})
    assert [(plan.topic, plan.action, len(plan.consequences)) for plan in plans] == [
        ("a", Action.DELETE, 1),
        ("b", Action.DELETE, 1),
        ("c", Action.CREATE, 0),
    ]
    assert "the engine would delete the topic (urn:b)" in plans[1].consequences[0].message


EMPTY = PlanReport(
    topicwarden="1",
    stack="dev",
    cluster_id=None,
    taken_at=0,
    topics=[],
    unchanged=0,
    engine=PreviewResult(ran=True),
)


@pytest.mark.parametrize(
    ("op", "name", "predicted"),
    [
        ("create", "new", True),
        ("import", "new", True),
        ("update", "kept", True),
        ("delete", "gone", True),
        ("create", "kept", False),
        ("delete", "kept", False),
        ("replace", "kept", False),
        ("delete-replaced", "kept", False),
        ("update", "gone", False),
        ("delete", "other", False),
        ("create", ":.eu:new", True),
        ("delete", ":.eu:gone", True),
        ("delete", "gone::kept", False),
    ],
)
def test_each_step_on_access_or_a_subject_that_the_plan_does_not_predict_is_refused(
    op: str, name: str, predicted: bool
) -> None:
    step = EngineStep(op, f"urn:pulumi:dev::shop::topicwarden:index:AccessSet$kafka:index/acl:Acl::{name}", "")
    names = ResourceNames(frozenset({"new", "kept", ":.eu:new"}), frozenset({"kept", "gone", ":.eu:gone"}))
    for section in (PlanSection.ACCESS, PlanSection.REGISTRY):
        report = with_unpredicted_steps(EMPTY, {section: [step]}, {section: names}, ())
        assert report.refused is not predicted
        plans = [plan for plan in (report.access, report.registry) if plan is not None]
        assert len(plans) == (not predicted)
        for plan in plans:
            assert plan.severity is Severity.REFUSED
            assert step.urn in plan.consequences[0].message
            again = with_unpredicted_steps(report, {section: [step]}, {section: names}, ())
            assert again == report, "a step is refused once"


# Which cluster a stack may be deployed to, and what a plan says of topics that left the stack.


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


# What a plan says once, about all topics.


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

    def gather(cluster: Any, snapshot: Snapshot, needed: Mapping[str, Any], recent: Any) -> dict[str, PlanEvidence]:
        return {name: PlanEvidence(snapshot, share_groups=("sharing",)) for name in needed}

    monkeypatch.setattr(of_topics, "gather", gather)
    deployed = DeployedStack({name: DeployedTopic(name, 1, 1, {}, None, None) for name in live})
    found = module.predict(cast("Cluster", _Unchanging()), snapshot, [], deployed)
    (remark,) = found.remarks
    assert remark.startswith("the cluster has share groups (sharing), but no broker reports which topics they read")
    reasons = [reason for plan in found.plans for each in plan.consequences for reason in each.because]
    assert [reason for reason in reasons if "share groups" in reason] == []
    assert [plan.topic for plan in found.plans] == ["a", "b"]
