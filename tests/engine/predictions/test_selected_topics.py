"""Test a plan for some topics of a stack: the same guards and steps, and nothing about other topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.predictions.conftest import deployment, of
from topicwarden.model.planned_change import Action, Severity
from topicwarden.model.problem import Refusal
from topicwarden.sandbox.local_cluster import Sandbox

KEPT = "{topic: %s, partitions: 2, replication_factor: 1, owner: a, config: {retention.ms: %s}}\n"


def test_a_plan_for_one_domain_sees_its_changes_and_no_others(sandbox: Sandbox, tmp_path: Path) -> None:
    files = {
        "shop/kept.yaml": KEPT % ("one.shop.kept", "7d"),
        "shop/gone.yaml": KEPT % ("one.shop.gone", "7d"),
        "other/kept.yaml": KEPT % ("one.other.kept", "7d"),
    }
    deployed = deployment(tmp_path, files)
    before = deployed.pulumi("stack export")
    deployed.remove("shop/gone.yaml")
    deployed.write(
        {
            "shop/kept.yaml": KEPT % ("one.shop.kept", "1d"),
            "new/added.yaml": KEPT % ("one.shop.added", "7d"),
            "other/kept.yaml": KEPT % ("one.other.kept", "1h"),
            "other/added.yaml": KEPT % ("one.other.added", "7d"),
        }
    )
    report = deployed.plan("one.shop.*")
    assert {plan.topic: plan.action for plan in report.topics} == {
        "one.shop.added": Action.CREATE,
        "one.shop.gone": Action.DELETE,
        "one.shop.kept": Action.UPDATE,
    }
    assert of(report, "one.shop.gone").weight is Severity.REFUSED
    assert report.engine.steps == {"create": 1, "delete": 1, "update": 1}
    assert report.engine.errors == []
    assert "one.shop.*" in report.remarks[-1]
    assert deployed.pulumi("stack export") == before

    with pytest.raises(Refusal, match=r"no topic, declared or deployed, .* did you mean one\.shop\.\*\?"):
        deployed.plan("one.shpo.*")
