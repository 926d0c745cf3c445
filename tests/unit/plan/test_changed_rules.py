"""Test which rules for records count as new or stricter than those of the last deploy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from topicwarden.audit.checks import CHECKS as AUDITED
from topicwarden.model.contents import Contents
from topicwarden.model.topic import Topic
from topicwarden.plan.changed_rules import CHECKS, recorded_rules, rule_trial
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument


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
