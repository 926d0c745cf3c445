"""Test which problems the check and the policy pack find in the case files, and the generated pages about rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.support.cases import POLICY_CASES as CASES
from tests.support.cases import TODAY, Case, cases, project_of
from topicwarden.audit.check_docs import check_docs
from topicwarden.kafka_facts.broker_settings import BrokerSettings
from topicwarden.model.contents import Contents, KeyContents, RecordContents, ValueContents
from topicwarden.model.problem import Level
from topicwarden.model.project import Project
from topicwarden.model.topic import AllowedChange, Topic
from topicwarden.policies import expressions
from topicwarden.policies.check_specs import check
from topicwarden.policies.judge_topics import judge_topics
from topicwarden.policies.policy import Policy
from topicwarden.policies.policy_file import load_policy
from topicwarden.policies.rules import ALL_RULES, RULES
from topicwarden.policies.topic_view import required_fields, view

# Rules on plain topics, as the policy pack and the audit use them: without YAML, and with any topic name.

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
        if name in ("name", "domain", "owner", "description", "allow", "access"):
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
    every = ALL_RULES
    assert [name for name, rule in every.items() if len((rule.__doc__ or "").splitlines()) < 3] == []
    fields = {
        f"{name}.{key}": field for name, rule in every.items() for key, field in rule.Settings.model_fields.items()
    }
    assert [name for name, field in fields.items() if not field.description] == []


def test_a_disabled_rule_reports_nothing(tmp_path: Path) -> None:
    policy = _policy(tmp_path, "rules:\n" + "".join(f"  {name}: {{level: 'off'}}\n" for name in ALL_RULES))
    worst = Topic("_schemas", 7, 1, {"min.insync.replicas": "3", "cleanup.policy": ""})
    assert list(judge_topics([worst], policy, "dev")) == []


@pytest.mark.parametrize("change", AllowedChange)
def test_the_line_that_remedies_show_has_no_warning(change: AllowedChange, tmp_path: Path) -> None:
    """A remedy that `check` warns about would be repaired twice."""
    line = change.line.strip("`").replace("DATE", "2999-12-31")
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "a.yaml").write_text(f"owner: x\npartitions: 1\nreplication_factor: 1\n{line}\n")
    problems = check(Project(tmp_path), ["dev"]).problems
    # A change of subjects allows nothing here, where none is declared.
    assert {problem.rule for problem in problems if problem.location.file == "topics/a.yaml"} <= {"allowance-idle"}


def test_expressions_see_the_contents_as_the_yaml_declares_them() -> None:
    declared: dict[str, Any] = {
        "key": {"required": True, "partition_function": "shop:place", "max_share": 0.5},
        "value": {"format": "avro", "schema": "paid.avsc", "registry": True, "subject": "paid"},
        "headers": {"required": ["trace-id"]},
        "timestamps": {"type": "CreateTime", "max_ahead": "1h", "max_late": "1d"},
        "records": {"max_bytes": "64KiB", "per_day": 7},
        "partitions": {"max_skew": 4.0},
        "consumers": {"max_lag": 3_600_000},
        "personal": ["email"],
        "arrival": {"max_silence": "15m", "every": "1d", "timezone": "UTC", "min": 1},
        "ordered": [{"field": "version", "strict": True}],
        "unique": [{"fields": ["id"], "within": "1d"}],
        "references": [{"field": "customer", "topic": "customers"}],
        "expressions": [{"id": "paid", "require": "value.paid", "message": "Unpaid."}],
    }
    topic = Topic("x", 1, 1, contents=Contents.model_validate(declared))
    seen = view(topic, BrokerSettings(), required_fields(["topic.contents"]))["contents"]
    assert seen.pop("key") == _undeclared(KeyContents) | declared["key"]
    assert seen.pop("value") == _undeclared(ValueContents) | declared["value"]
    assert seen.pop("timestamps") == {"type": "CreateTime", "max_ahead": 3_600_000, "max_late": 86_400_000}
    assert seen.pop("arrival") == {
        "max_silence": 900_000,
        "every": 86_400_000,
        "timezone": "UTC",
        "min": 1,
        "max": None,
    }
    assert seen.pop("personal") == ["email"]
    assert seen.pop("unique") == [{"fields": ["id"], "header": None, "key": False, "within": 86_400_000}]
    assert seen.pop("references") == [{"field": "customer", "topic": "customers", "grace": None}]
    assert seen.pop("records") == {"max_bytes": 65_536, "per_day": 7}
    assert seen == {name: declared[name] for name in ("headers", "partitions", "consumers", "ordered", "expressions")}


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


# Check the projects of ``cases/``, good and bad.


def checked_lines(case: Case, folder: Path) -> list[str]:
    """Return every problem of the case, one per line, and the number of waived problems if there are any."""
    project = project_of(case, folder)
    checked = check(project, project.stack_names(), TODAY)
    return [*map(str, checked.problems), *([f"{checked.waived} waived"] if checked.waived else [])]


@pytest.mark.parametrize("case", cases(CASES, "bad"), ids=lambda case: case.name)
def test_bad_project_has_these_problems(case: Case, tmp_path: Path) -> None:
    assert checked_lines(case, tmp_path) == case.expected.splitlines()


@pytest.mark.parametrize("case", cases(CASES, "good"), ids=lambda case: case.name)
def test_good_project_has_none(case: Case, tmp_path: Path) -> None:
    assert [line for line in checked_lines(case, tmp_path) if not line.endswith(" waived")] == []


_PARTS = ["Example", "Confirm", "Remedy", "Prevent", "Source"]


def test_every_rule_has_a_bad_example() -> None:
    reported = "".join(case.expected for case in cases(CASES, "bad"))
    assert [name for name in ALL_RULES if f"[{name}]" not in reported] == []


@pytest.mark.parametrize("check", check_docs())
def test_every_check_documents_its_proof_example_and_source(check: str) -> None:
    """The first sentence says what the check reports. The other parts are paragraphs in this order."""
    lead, *parts = check_docs()[check].split("\n\n")
    assert lead.endswith("."), check
    assert "**fail**" in "".join(parts), check
    assert [part.partition(":")[0] for part in parts[-5:]] == _PARTS, check
