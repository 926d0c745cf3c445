"""Test what changes between a confirmed plan and its deploy: the plan, the rules, and words that were withdrawn."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.support.access_parts import declared_access, deployed_access, live_access
from topicwarden.audit.checks import CHECKS as AUDITED
from topicwarden.kinds.scram_user.change import USERS
from topicwarden.model.access import NO_ACCESS, AccessSource, DeclaredAccess, ScramUser, SecretReference
from topicwarden.model.contents import Contents
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.planned_change import (
    AccessPlan,
    Action,
    Consequence,
    PlanReport,
    PreviewResult,
    RegistryPlan,
    Severity,
    TopicPlan,
)
from topicwarden.model.problem import Location
from topicwarden.model.subject import DeclaredSubject, DeclaredSubjects, DeployedSubject, RegisteredSchema
from topicwarden.model.topic import Allowance, AllowedChange, Topic, allowed_on
from topicwarden.plan.access_change import access_change
from topicwarden.plan.access_context import OwnClient, StackTopics
from topicwarden.plan.access_evidence import AccessEvidence
from topicwarden.plan.changed_rules import CHECKS, recorded_rules, rule_trial
from topicwarden.plan.predict_access import judge_access
from topicwarden.plan.predicted_stack import new_losses
from topicwarden.plan.withdrawn_words import with_withdrawn_subjects, without_withdrawn
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument


def loss(kind: str = "destroyed", severity: Severity = Severity.DANGER, **evidence: int | str | None) -> Consequence:
    return Consequence(kind=kind, severity=severity, message=f"{kind} {evidence}", evidence={**evidence})


def plan(*consequences: Consequence, access: tuple[Consequence, ...] = ()) -> PlanReport:
    return PlanReport(
        topicwarden="",
        stack="dev",
        cluster_id=None,
        taken_at=0,
        topics=[TopicPlan(topic="t", action=Action.RECREATE, consequences=list(consequences))],
        unchanged=0,
        access=AccessPlan(items=[], consequences=list(access)),
        engine=PreviewResult(ran=True),
    )


@pytest.mark.parametrize(
    ("shown", "now", "new"),
    [
        (plan(), plan(), 0),
        (plan(loss(records=5)), plan(loss(records=500)), 0),
        (plan(loss(records=5)), plan(), 0),
        (plan(loss(records=0)), plan(loss(records=300)), 1),
        (plan(loss(records=9, active_groups=0)), plan(loss(records=9, active_groups=1)), 1),
        (plan(), plan(loss(records=300)), 1),
        (plan(loss(severity=Severity.NOTE, records=5)), plan(loss(records=5)), 1),
        (plan(), plan(loss(severity=Severity.NOTE, records=5)), 0),
        (plan(loss(records=5)), plan(loss(records=5), loss("compaction", records=1)), 1),
        (plan(access=(loss("x", group="a"),)), plan(access=(loss("x", group="a"), loss("x", group="b"))), 1),
        (plan(access=(loss("x", group="a", lag=0),)), plan(access=(loss("x", group="a", lag=0),)), 0),
    ],
)
def test_a_loss_that_was_not_shown_is_new_and_a_higher_count_is_not(
    shown: PlanReport, now: PlanReport, new: int
) -> None:
    assert len(new_losses(shown, now)) == new


def declaration(contents: dict[str, Any]) -> Declaration:
    topic = Topic("t", 1, 1, contents=Contents.model_validate(contents))
    return Declaration(topic, SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))


def tried(before: dict[str, Any], after: dict[str, Any], root: Path = Path()) -> frozenset[str]:
    schemas = ProjectSchemas(root)
    recorded = json.loads(json.dumps(recorded_rules(declaration(before), schemas)))
    trial = rule_trial(declaration(after), recorded, schemas)
    return trial.checks if trial else frozenset()


ORDER = {"field": "version"}
UNIQUE = {"fields": ["id"]}


@pytest.mark.parametrize(
    ("before", "after", "checks"),
    [
        ({}, {}, set()),
        ({}, {"unique": [UNIQUE]}, {"unique"}),
        ({"unique": [UNIQUE]}, {"unique": [UNIQUE]}, set()),
        ({"unique": [UNIQUE]}, {"unique": [UNIQUE], "ordered": [ORDER]}, {"ordered"}),
        ({"unique": [UNIQUE, {"key": True}]}, {"unique": [UNIQUE]}, set()),
        ({}, {"headers": {"required": ["trace"]}}, {"header"}),
        ({"headers": {"required": ["trace", "id"]}}, {"headers": {"required": ["trace"]}}, set()),
        ({"headers": {"required": ["trace"]}}, {"headers": {"required": ["trace", "id"]}}, {"header"}),
        ({"records": {"max_bytes": "2KiB"}}, {"records": {"max_bytes": "1KiB"}}, {"record-size"}),
        ({"records": {"max_bytes": "1KiB"}}, {"records": {"max_bytes": "2KiB"}}, set()),
        ({"arrival": {"every": "1d", "min": 5}}, {"arrival": {"every": "1d", "min": 4}}, set()),
        ({"arrival": {"every": "1d", "min": 5}}, {"arrival": {"every": "1d", "min": 6}}, {"arrival-count"}),
        ({"arrival": {"max_silence": "1h"}}, {"arrival": {"max_silence": "30m"}}, {"arrival-silence"}),
        ({}, {"key": {"required": True, "format": "string"}}, {"null-key", "key-schema"}),
        ({"key": {"format": "string"}}, {"key": {"required": True, "format": "string"}}, {"null-key"}),
        ({"value": {"format": "string"}}, {"value": {"format": "json"}}, {"value-schema"}),
        ({"value": {"format": "json"}}, {}, set()),
        ({}, {"records": {"per_day": 5}, "consumers": {"max_lag": "1h"}, "personal": ["email"]}, set()),
    ],
)
def test_only_new_and_stricter_rules_are_tried(before: dict[str, Any], after: dict[str, Any], checks: set[str]) -> None:
    assert tried(before, after) == checks


def test_a_changed_schema_file_is_a_changed_rule(tmp_path: Path) -> None:
    contents = {"value": {"format": "json", "schema": "t.json"}}
    file = tmp_path / "topics" / "t.json"
    file.parent.mkdir()
    file.write_text("{}")
    before = recorded_rules(declaration(contents), ProjectSchemas(tmp_path))
    assert rule_trial(declaration(contents), before, ProjectSchemas(tmp_path)) is None
    file.write_text('{"required": ["id"]}')
    trial = rule_trial(declaration(contents), before, ProjectSchemas(tmp_path))
    assert trial is not None
    assert trial.checks == {"value-schema"}


def test_the_plan_of_a_subject_tries_its_new_schema(tmp_path: Path) -> None:
    contents = {"value": {"format": "json", "schema": "t.json", "registry": {"compatibility": "BACKWARD"}}}
    file = tmp_path / "topics" / "t.json"
    file.parent.mkdir()
    file.write_text("{}")
    before = recorded_rules(declaration(contents), ProjectSchemas(tmp_path))
    unregistered = recorded_rules(declaration({"value": {"format": "json"}}), ProjectSchemas(tmp_path))
    file.write_text('{"required": ["id"]}')
    assert rule_trial(declaration(contents), before, ProjectSchemas(tmp_path)) is None
    assert rule_trial(declaration(contents), unregistered, ProjectSchemas(tmp_path)) is not None


def test_a_trial_has_only_the_new_rules_of_a_list() -> None:
    before = {"unique": [UNIQUE], "headers": {"required": ["trace"]}}
    after = {"unique": [UNIQUE, {"key": True}], "headers": {"required": ["trace", "id"]}, "ordered": [ORDER]}
    schemas = ProjectSchemas(Path())
    trial = rule_trial(declaration(after), recorded_rules(declaration(before), schemas), schemas)
    assert trial is not None
    contents = trial.declaration.topic.contents
    assert [rule.key for rule in contents.unique or ()] == [True]
    assert contents.headers.required == ("id",)
    assert [rule.field for rule in contents.ordered or ()] == ["version"]


def test_every_rule_has_a_check_of_the_audit() -> None:
    assert set(CHECKS.values()) <= AUDITED.keys()


TODAY = date(2030, 1, 2)
BOTH = frozenset({Allowance(AllowedChange.DELETE), Allowance(AllowedChange.REVOKE_ACCESS)})
ONE = frozenset({Allowance(AllowedChange.DELETE)})
"""What remains of both."""
FILE = "access/a.yaml"
STATE = DeployedStack(
    {"t": DeployedTopic("t", 1, 1, {}, Topic("t", 1, 1, allow=BOTH))},
    access=deployed_access(allow={FILE: BOTH}),
    allow={"t": BOTH},
)


@pytest.mark.parametrize(
    ("now", "remaining"),
    [
        (None, BOTH),
        (BOTH, BOTH),
        (ONE, ONE),
        (frozenset({Allowance(AllowedChange.DELETE, date(2030, 1, 1))}), frozenset()),
        (frozenset({Allowance(AllowedChange.DELETE, TODAY), Allowance(AllowedChange.RECREATE)}), ONE),
    ],
)
def test_only_words_that_a_file_which_is_there_still_has_remain(
    now: frozenset[Allowance] | None, remaining: frozenset[Allowance]
) -> None:
    declarations = (
        []
        if now is None
        else [Declaration(Topic("t", 1, 1, allow=now), SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))]
    )
    access = declared_access(allow={} if now is None else {FILE: now})
    found = without_withdrawn(STATE, declarations, access, TODAY)
    declared = found.topics["t"].declared
    assert declared is not None
    assert (declared.allow, found.allow["t"], found.access.allow[FILE]) == (remaining, remaining, remaining)


USER = ("billing", "SCRAM-SHA-512")
CREDENTIAL = ScramUser(*USER, 4096, SecretReference("p", "1"))
REMOVE = frozenset({Allowance(AllowedChange.REMOVE_CREDENTIAL)})


@pytest.mark.parametrize("words", [frozenset(), REMOVE])
@pytest.mark.parametrize("home", [FILE, "access/renamed.yaml", "t"])
def test_a_destroy_needs_the_word_of_the_file_that_declares_access_now(home: str, words: frozenset[Allowance]) -> None:
    deployed = deployed_access(parts={USERS: {USER: CREDENTIAL}}, homes={USER: (FILE,)}, allow={FILE: REMOVE})
    topic = Topic("t", 1, 1, allow=words)
    source = AccessSource(Location(home), "users", topic="t" if home == "t" else None)
    now = DeclaredAccess({USERS: {USER: (CREDENTIAL, (source,))}}, {} if home == "t" else {home: words})
    declarations = [Declaration(topic, SettingLocations(ParsedDocument("topics/t.yaml"), (), {}))]
    state = without_withdrawn(DeployedStack({}, access=deployed), declarations, now, TODAY)
    change = access_change(NO_ACCESS, state.access, live_access([], {USERS: {USER: CREDENTIAL}}, {}), destroying=True)
    topics = StackTopics(allowed={name: allowed_on(allow, TODAY) for name, allow in state.allow.items()})
    consequences = judge_access(change, AccessEvidence(), topics, OwnClient("User:x"), now=0).plan.consequences
    assert [each.severity for each in consequences if each.kind == "credential-removed"] == [
        Severity.DANGER if words else Severity.REFUSED
    ]


def test_access_that_no_deploy_declared_gets_no_word_by_its_declaration() -> None:
    now = DeclaredAccess({USERS: {USER: (CREDENTIAL, (AccessSource(Location(FILE), "users"),))}}, {FILE: REMOVE})
    state = DeployedStack({}, access=deployed_access(parts={USERS: {USER: CREDENTIAL}}))
    assert without_withdrawn(state, (), now, TODAY).access.homes == {}


@pytest.mark.parametrize(("deployed", "now", "refused"), [(True, False, 1), (True, True, 0), (False, False, 0)])
def test_a_subject_whose_word_is_withdrawn_is_refused(deployed: bool, now: bool, refused: int) -> None:
    word, schema = frozenset({Allowance(AllowedChange.DELETE_SUBJECT)}), RegisteredSchema("json", "{}")
    state = DeployedStack(
        subjects={"s": DeployedSubject("s", schema, None, 1, 1, word if deployed else frozenset(), 0)}
    )
    subject = DeclaredSubject("s", schema, "s.json", Location("subjects/s.yaml"), allow=word if now else frozenset())
    plan = with_withdrawn_subjects(RegistryPlan(subjects=[]), state, DeclaredSubjects({"s": subject}), TODAY)
    assert plan is not None
    assert [each.severity for each in plan.consequences] == [Severity.REFUSED] * refused
