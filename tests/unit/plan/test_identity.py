"""Test which cluster a stack may be deployed to."""

from __future__ import annotations

import pytest

from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.read.snapshot import LiveTopic, Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Topic
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.deployed_stack import DeployedStack, DeployedTopic


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


def test_there_is_no_judgement_without_both_ids() -> None:
    assert judged(None, "b") is None
    assert judged("a", None) is None
    assert judged("a", "a") is None


@pytest.mark.parametrize("there", [True, False])
def test_another_cluster_is_refused(there: bool) -> None:
    with pytest.raises(
        Refusal, match="stack prod was deployed to cluster a, but kafka:bootstrapServers leads to cluster b"
    ):
        judged("a", "b", there=there)


def test_a_sandbox_made_anew_is_only_remarked_on_if_nothing_of_the_stack_is_in_it() -> None:
    assert "is a new cluster" in (judged("a", "b", sandbox=True, there=False) or "")
    with pytest.raises(Refusal, match="topicwarden:cluster: sandbox leads to cluster b"):
        judged("a", "b", sandbox=True)


def test_a_stack_says_that_it_moved_by_the_id_of_the_new_cluster() -> None:
    assert "moves from cluster a to b" in (judged("a", "b", moved_to="b") or "")
    assert "is no longer needed" in (judged("b", "b", moved_to="b") or "")
    for before in ("a", "b"):
        with pytest.raises(Refusal, match="says that the stack moved to cluster c, but kafka:bootstrapServers"):
            judged(before, "b", moved_to="c")
