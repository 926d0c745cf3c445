"""Test rules on plain topics, as the policy pack and the audit use them: without YAML, and with any topic name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.contents import Contents, KeyContents, RecordContents, ValueContents
from topicwarden.model.problem import Level
from topicwarden.model.project import Project
from topicwarden.model.topic import Topic
from topicwarden.policies import expressions
from topicwarden.policies.judge_topics import judge_topics
from topicwarden.policies.policy import Policy
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.rule import Rule, StackRule
from topicwarden.policies.rules import RULES, STACK_RULES
from topicwarden.policies.topic_view import required_fields, view

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


def test_equal_topics_are_judged_by_their_own_name(tmp_path: Path) -> None:
    topics = [Topic(name, 1, 1, {"min.insync.replicas": "2"}) for name in ("a", "b")]
    policy = _policy(tmp_path, "waivers: [{rule: min-insync-replicas, topics: b, until: 9999-12-31, reason: r, by: b}]")
    assert [(each.topic, each.rule, each.waiver is not None) for each in judge_topics(topics, policy, "dev")] == [
        ("a", "min-insync-replicas", False),
        ("b", "min-insync-replicas", True),
    ]


class _Shape(Topic):
    """A topic that only allows access to its shape."""

    def __getattribute__(self, name: str) -> object:
        if name in ("name", "domain", "owner", "description", "allow"):
            raise AssertionError(f"looks at the topic's {name}")
        return super().__getattribute__(name)


@pytest.mark.parametrize("name", sorted(name for name, rule in RULES.items() if rule.SHAPE_ONLY))
@pytest.mark.parametrize("kept", [{"retention.ms": "5"}, {"remote.storage.enable": "true", "local.retention.ms": "7"}])
def test_shape_only_rules_read_only_the_shape(name: str, kept: dict[str, str]) -> None:
    config = {"cleanup.policy": "compact,delete", "segment.ms": "9", "compression.lz4.level": "3", **kept}
    topic = _Shape("x", 3, 3, config, contents=Contents(records=RecordContents(per_day=3, max_bytes=10**7)))
    rule = RULES[name]
    tuple(rule.judge(topic, rule.Settings(), BrokerSettings()))


def test_every_rule_is_documented_with_its_settings() -> None:
    every: dict[str, Rule | StackRule] = {**RULES, **STACK_RULES}
    assert [name for name, rule in every.items() if len((rule.__doc__ or "").splitlines()) < 3] == []
    fields = {
        f"{name}.{key}": field for name, rule in every.items() for key, field in rule.Settings.model_fields.items()
    }
    assert [name for name, field in fields.items() if not field.description] == []


def test_a_disabled_rule_reports_nothing(tmp_path: Path) -> None:
    policy = _policy(
        tmp_path, "rules:\n" + "".join(f"  {name}: {{level: 'off'}}\n" for name in {**RULES, **STACK_RULES})
    )
    worst = Topic("_schemas", 7, 1, {"min.insync.replicas": "3", "cleanup.policy": ""})
    assert list(judge_topics([worst], policy, "dev")) == []


def test_expressions_see_the_contents_as_the_yaml_declares_them() -> None:
    declared: dict[str, Any] = {
        "key": {"required": True, "partition_function": "shop:place", "max_share": 0.5},
        "value": {"format": "avro", "schema": "paid.avsc", "registry": True, "subject": "paid"},
        "headers": {"required": ["trace-id"]},
        "timestamps": {"type": "CreateTime", "max_ahead": "1h", "max_late": "1d"},
        "records": {"max_bytes": "64KiB", "per_day": 7},
        "partitions": {"max_skew": 4.0},
        "expressions": [{"id": "paid", "require": "value.paid", "message": "Unpaid."}],
    }
    topic = Topic("x", 1, 1, contents=Contents.model_validate(declared))
    seen = view(topic, BrokerSettings(), required_fields(["topic.contents"]))["contents"]
    assert seen.pop("key") == _undeclared(KeyContents) | declared["key"]
    assert seen.pop("value") == _undeclared(ValueContents) | declared["value"]
    assert seen.pop("timestamps") == {"type": "CreateTime", "max_ahead": 3_600_000, "max_late": 86_400_000}
    assert seen.pop("records") == {"max_bytes": 65_536, "per_day": 7}
    assert seen == {name: declared[name] for name in ("headers", "partitions", "expressions")}


def _undeclared(section: type[BaseModel]) -> dict[str, Any]:
    """Return the view of a section that declares nothing: false for a flag, else null."""
    flags = {"required", "registry"}
    names = (field.alias or name for name, field in section.model_fields.items())
    return {name: False if name in flags else None for name in names}


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
