"""Run the examples of docs/extending/: each is a complete module of its kind, and reports what the page says."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
import yaml

from tests.support.cases import find_case
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.check import Check
from topicwarden.audit.judge import results_of
from topicwarden.extensions.interchange import convert
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionReplicas, Snapshot
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.kinds.topic.change import TopicChange
from topicwarden.kinds.topic.consequences import ConsequenceRule
from topicwarden.kinds.topic.evidence import PlanEvidence
from topicwarden.model.planned_change import Action, Severity
from topicwarden.model.problem import Location, Problem
from topicwarden.model.topic import Topic
from topicwarden.model.verdict import Verdict
from topicwarden.policies.rule import Rule
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "validation" / "topicwarden"
PAGE = "\n".join(path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / "docs/extending").glob("*.md")))
(CASE,) = re.findall(r"^```\n(bad:\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = dict(re.findall(r"^```python\n# ([\w/]+)\.py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
PROTOCOLS: dict[str, type] = {
    "policies/rules/delete_retention": Rule,
    "audit/checks/preferred_leader": Check,
    "kinds/topic/consequences/compression": ConsequenceRule,
}
ENTRIES = {
    "extensions/interchange/convert/managed_kafka": '"managed-kafka": managed_kafka',
    "report/problems/gitlab": '"gitlab": "',
    "kafka_facts/services/google_cloud": "google_cloud.PROFILE",
}
"""The lines in tables of the examples whose modules have no protocol of their own."""


def example(name: str) -> ModuleType:
    module = ModuleType(name.replace("/", "."), ast.get_docstring(ast.parse(EXAMPLES[name])))
    exec(compile(EXAMPLES[name], name, "exec", dont_inherit=True), module.__dict__)
    return module


def test_the_pages_have_an_example_of_each_kind() -> None:
    assert EXAMPLES.keys() == PROTOCOLS.keys() | ENTRIES.keys()


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


def test_the_rule_reports_the_problems_of_the_case(tmp_path: Path) -> None:
    (tmp_path / "page.yaml").write_text(CASE, encoding="utf-8")
    case, rule = find_case(tmp_path, "bad", "delete-retention"), example("policies/rules/delete_retention")
    project = case.write(tmp_path / "project")
    (policy,) = yaml.safe_load(case.files["policies/house.yaml"])["rules"].values()
    resolved = resolve(load(project / "topics", project, ["dev"]), "dev")
    problems = "".join(
        f"{declaration.locations.at(violation.path)}: {violation.message} [{case.name}]\n"
        for declaration in resolved.declarations
        for violation in rule.judge(declaration.topic, rule.Settings.model_validate(policy), BrokerSettings())
    )
    assert (resolved.problems, problems) == ((), case.expected)


def test_the_rule_judges_its_bound() -> None:
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
    rule = example("kinds/topic/consequences/compression")
    found = list(rule.evaluate(change, PlanEvidence(Snapshot("c", 0, {}, {}, {})))) if rule.needs(change, 0) else []
    assert [(consequence.kind, consequence.severity) for consequence in found] == [
        (kind, Severity.NOTE) for kind in kinds
    ]


@pytest.mark.parametrize("name", ENTRIES)
def test_an_example_is_new_and_its_line_is_named(name: str) -> None:
    assert not (PACKAGE / f"{name}.py").exists()
    assert f"`{name.rpartition('/')[0]}/__init__.py`: `{ENTRIES[name]}" in " ".join(PAGE.split())


def test_the_converter_reads_topics_and_names_what_it_does_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "projects/p/locations/l/clusters/c/topics/orders.v1"
    topic = {"name": name, "partitionCount": 3, "replicationFactor": 3, "configs": {"cleanup.policy": "compact"}}
    monkeypatch.setattr(convert, "FORMATS", {"managed-kafka": example("extensions/interchange/convert/managed_kafka")})
    files: list[Any] = [[topic], [topic | {"labels": {}}], [topic | {"replicationFactor": 0}], {"topics": []}]
    read = [convert.read_all([convert.SourceFile("topics.json", json.dumps(file).encode())]) for file in files]
    assert [one.topic for one in read[0].topics] == [Topic("orders.v1", 3, 3, {"cleanup.policy": "compact"})]
    assert [[problem.rule for problem in result.problems] for result in read] == [
        [],
        ["unknown-key"],
        ["value"],
        ["value"],
    ]


def test_the_format_names_the_line_of_each_problem(tmp_path: Path) -> None:
    problem = Problem(Location("topics/a.yaml", 3, 56), "partitions: expected at most 120, got 200", "partitions")
    page = ProblemDigest(tmp_path, (problem,), ("topics/a.yaml",), 1)
    [entry] = json.loads(example("report/problems/gitlab").render(page))
    assert entry["location"] == {"path": "topics/a.yaml", "lines": {"begin": 3}}
    assert (entry["severity"], entry["check_name"]) == ("major", "partitions")


def test_the_profile_is_recognized_by_its_host_names() -> None:
    profile = example("kafka_facts/services/google_cloud").PROFILE
    assert isinstance(profile, ServiceProfile)
    assert profile.recognition.by_host("bootstrap.orders.us-central1.managedkafka.shop.cloud.goog")
    assert not profile.recognition.by_host("kafka.example.com")
