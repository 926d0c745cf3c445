"""Rules on plain topics, as the policy pack and the audit have them: without YAML, with names that no YAML may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from topicwarden.model.problem import Level
from topicwarden.model.project import Project
from topicwarden.model.topic import Contents, RecordRequirement, Topic
from topicwarden.policies import expressions
from topicwarden.policies.judge_topics import judge_topics
from topicwarden.policies.policy import Policy
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.rule import Rule, StackRule
from topicwarden.policies.rules import RULES, STACK_RULES
from topicwarden.policies.topic_view import required_fields, view
from topicwarden.specs.broker_settings import BrokerSettings
from topicwarden.specs.document_model import ContentsSpec

EXPRESSIONS = """
expressions:
  - {id: enough, require: topic.partitions > 2, message: Too few.}
  - {id: named, require: 'topic.name.matches("^[a-z0-9.]+$")', message: Misnamed.}
  - {id: keyed, when: '"compact" in topic.config["cleanup.policy"]', require: topic.contents.key.required, message: No.}
"""


def _policy(folder: Path, text: str) -> Policy:
    for name in ("topics", "policies", "stacks"):
        (folder / name).mkdir()
    (folder / "policies" / "a.yaml").write_text(text, encoding="utf-8")
    policy = load_policy(Project(folder))
    assert policy.problems == ()
    return policy


def test_kafkas_own_topics_are_protected(tmp_path: Path) -> None:
    topic = Topic("__consumer_offsets", 50, 3, {"cleanup.policy": "compact"})
    (judgement,) = judge_topics([topic], _policy(tmp_path, ""), "dev")
    assert (judgement.rule, judgement.level, judgement.path) == ("protected-names", Level.ERROR, ("topic",))


def test_topics_alike_are_each_judged_by_name(tmp_path: Path) -> None:
    topics = [Topic(name, 1, 1, {"min.insync.replicas": "2"}) for name in ("a", "b")]
    policy = _policy(tmp_path, "waivers: [{rule: min-insync-replicas, topics: b, until: 9999-12-31, reason: r, by: b}]")
    assert [(each.topic, each.rule, each.waiver is not None) for each in judge_topics(topics, policy, "dev")] == [
        ("a", "min-insync-replicas", False),
        ("b", "min-insync-replicas", True),
    ]


class _Shape(Topic):
    """A topic that has nothing but its shape."""

    def __getattribute__(self, name: str) -> object:
        if name in ("name", "domain", "owner", "description", "allow"):
            raise AssertionError(f"looks at the topic's {name}")
        return super().__getattribute__(name)


@pytest.mark.parametrize("name", sorted(name for name, rule in RULES.items() if rule.SHAPE_ONLY))
@pytest.mark.parametrize("kept", [{"retention.ms": "5"}, {"remote.storage.enable": "true", "local.retention.ms": "7"}])
def test_rules_by_shape_look_at_nothing_else(name: str, kept: dict[str, str]) -> None:
    config = {"cleanup.policy": "compact,delete", "segment.ms": "9", "compression.lz4.level": "3", **kept}
    topic = _Shape("x", 3, 3, config, contents=Contents(records_per_day=3, record_max_bytes=10**7))
    rule = RULES[name]
    tuple(rule.judge(topic, rule.Settings(), BrokerSettings()))


def test_every_rule_is_documented_with_its_settings() -> None:
    every: dict[str, Rule | StackRule] = {**RULES, **STACK_RULES}
    assert [name for name, rule in every.items() if len((rule.__doc__ or "").splitlines()) < 3] == []
    fields = {
        f"{name}.{key}": field for name, rule in every.items() for key, field in rule.Settings.model_fields.items()
    }
    assert [name for name, field in fields.items() if not field.description] == []


def test_a_rule_that_is_off_says_nothing(tmp_path: Path) -> None:
    policy = _policy(
        tmp_path, "rules:\n" + "".join(f"  {name}: {{level: 'off'}}\n" for name in {**RULES, **STACK_RULES})
    )
    worst = Topic("_schemas", 7, 1, {"min.insync.replicas": "3", "cleanup.policy": ""})
    assert list(judge_topics([worst], policy, "dev")) == []


def test_expressions_see_all_that_is_declared_of_the_contents() -> None:
    """Each field has a value of its own here, and stands in the view once, where the YAML has it."""
    values: dict[str, Any] = {
        field.name: True if field.type == "bool" else number + 0.5 if "float" in field.type else number
        for number, field in enumerate(fields(Contents), 2)
    }
    values |= {"headers_required": ("trace-id",), "expressions": (RecordRequirement("paid", "value.paid", "Unpaid."),)}
    topic = Topic("x", 1, 1, contents=Contents(**values))
    seen = view(topic, BrokerSettings(), required_fields(["topic.contents"]))["contents"]
    assert seen.pop("expressions") == [{"id": "paid", "require": "value.paid", "message": "Unpaid."}]
    shown = [str(value) for part in seen.values() for value in part.values()]
    declared = [str(list(value) if name == "headers_required" else value) for name, value in values.items()]
    assert sorted(shown) == sorted(value for value in declared if "Requirement" not in value)
    names = {f"{part}.{name}" for part, held in seen.items() for name in held}
    assert names == set(_settings(ContentsSpec)) - {"expressions"}


def _settings(part: type[BaseModel], above: str = "") -> Iterator[str]:
    for name, field in part.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from _settings(type(field.default), f"{above}{name}.")
        else:
            yield f"{above}{field.alias or name}"


def test_expressions_are_compiled_once_however_many_topics_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []

    def counting(part: str, text: str, *more: Any) -> Any:
        compiled.append(text)
        return compile_text(part, text, *more)

    compile_text = expressions._compile
    monkeypatch.setattr(expressions, "_compile", counting)
    policy = _policy(tmp_path, EXPRESSIONS)
    once = [text for one in policy.expressions for text in (one.expression.when, one.expression.require) if text]
    assert len(once) == 4
    topics = [Topic(f"t{n}", 3 + n, 3, {"cleanup.policy": "delete"}) for n in range(100)]
    for stack in ("dev", "prod"):
        assert list(judge_topics(topics, policy, stack)) == []
    assert sorted(compiled) == sorted(once)
