"""Run the worked examples of CONTRIBUTING.md: each is a complete module of its kind, and reports what the page says."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from topicwarden.audit.check import Check
from topicwarden.audit.judge import results_of
from topicwarden.audit.subject import AuditedTopic
from topicwarden.kafka.snapshot import LiveTopic, PartitionReplicas, Snapshot
from topicwarden.model.planned_change import Action, Severity
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict
from topicwarden.plan.consequence_rule import ConsequenceRule
from topicwarden.plan.plan_evidence import PlanEvidence
from topicwarden.plan.topic_change import TopicChange
from topicwarden.policies.rule import Rule
from topicwarden.specs.broker_settings import BrokerSettings

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "validation" / "topicwarden"
PAGE = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^```python\n# ([\w/]+)\.py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
PROTOCOLS: dict[str, type] = {
    "policies/rules/delete_retention": Rule,
    "audit/checks/preferred_leader": Check,
    "plan/consequences/compression": ConsequenceRule,
}


def example(name: str) -> ModuleType:
    module = ModuleType(name.replace("/", "."), ast.get_docstring(ast.parse(EXAMPLES[name])))
    exec(compile(EXAMPLES[name], name, "exec", dont_inherit=True), module.__dict__)
    return module


def test_the_page_has_an_example_of_each_kind() -> None:
    assert EXAMPLES.keys() == PROTOCOLS.keys()


@pytest.mark.parametrize("name", PROTOCOLS)
def test_an_example_is_complete_and_new(name: str) -> None:
    protocol = PROTOCOLS[name]
    members = {*protocol.__annotations__, *(member for member in vars(protocol) if not member.startswith("_"))}
    assert members <= set(vars(example(name)))
    folder, _, stem = name.rpartition("/")
    assert not (PACKAGE / f"{name}.py").exists()
    entry = f"check({stem})" if protocol is Check else stem
    assert f'"{stem.replace("_", "-")}": {entry}' in PAGE
    assert f"{folder}/__init__.py" in PAGE


def test_the_rule_reports_the_line_of_the_page() -> None:
    rule = example("policies/rules/delete_retention")
    settings = rule.Settings.model_validate({"min": "3d"})
    for kept, expected in (("3600000", 1), ("259200000", 0)):
        topic = Topic("a", 3, 3, {"cleanup.policy": "compact", "delete.retention.ms": kept})
        violations = list(rule.judge(topic, settings, BrokerSettings()))
        assert len(violations) == expected
        assert all(violation.message in PAGE for violation in violations)


@pytest.mark.parametrize(
    ("leader", "in_sync", "verdicts"),
    [(2, (1, 2, 3), [Verdict.FAIL]), (2, (2, 3), []), (1, (1, 2, 3), [])],
)
def test_the_check_fails_if_another_replica_leads(
    leader: int, in_sync: tuple[int, ...], verdicts: list[Verdict]
) -> None:
    live = LiveTopic(Topic("t", 1, 3), "id", {}, (PartitionReplicas(0, leader, (1, 2, 3), in_sync),))
    snapshot = Snapshot("c", 0, dict.fromkeys((1, 2, 3)), {}, {"t": live})
    topic = AuditedTopic(snapshot, declared=None, live=live, horizons={}, counts={}, committed={})
    results = results_of(cast("Check[Any]", example("audit/checks/preferred_leader")), topic)
    assert results is not None
    assert [result.verdict for result in results] == verdicts


@pytest.mark.parametrize(("after", "kinds"), [("zstd", ["compression"]), ("producer", [])])
def test_the_consequence_is_a_note(after: str, kinds: list[str]) -> None:
    before, declared = (Topic("t", 1, 3, {"compression.type": codec}) for codec in ("producer", after))
    change = TopicChange("t", Action.UPDATE, None, None, None, before, declared)
    rule = example("plan/consequences/compression")
    found = list(rule.evaluate(change, PlanEvidence(Snapshot("c", 0, {}, {}, {})))) if rule.needs(change, 0) else []
    assert [(consequence.kind, consequence.weight) for consequence in found] == [
        (kind, Severity.NOTE) for kind in kinds
    ]
