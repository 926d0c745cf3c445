"""Test that the policy pack refuses and passes the same topics as `check`.

The tests use every example, and the real engine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.cases import POLICY_CASES as CASES
from tests.support.cases import TODAY, Case, cases, project_of
from topicwarden.deploy.policy_pack import PolicyGate, stack_of
from topicwarden.model.problem import Level
from topicwarden.model.project import Project
from topicwarden.policies.check_specs import check
from topicwarden.policies.rules import RULES, STACK_RULES
from topicwarden.specs.load import load
from topicwarden.specs.resolve import Declaration, resolve
from topicwarden.toolchain import environment

REPOSITORY = Path(__file__).parents[3]
EXAMPLES = [
    *(pytest.param(case, id=f"bad-{case.name}") for case in cases(CASES, "bad")),
    *(pytest.param(case, id=f"good-{case.name}") for case in cases(CASES, "good")),
]


def inputs(current: Declaration) -> dict[str, Any]:
    """Return the inputs that Pulumi passes to a policy pack: the topic's name, counts and configuration."""
    topic = current.topic
    return {
        "name": topic.name,
        "partitions": topic.partitions,
        "replicationFactor": topic.replication_factor,
        "config": dict(topic.config),
    }


@pytest.mark.parametrize("case", EXAMPLES)
def test_the_gate_and_the_check_agree(case: Case, tmp_path: Path) -> None:
    project = project_of(case, tmp_path)
    gate = PolicyGate(project, TODAY)
    expressions = {current.expression.id for current in gate.policy.expressions}
    judged_by_rules = {*RULES, *STACK_RULES, *expressions}
    for stack in project.stack_names():
        checked = check(project, [stack], TODAY)
        broken = set(resolve(load(project.topics, project.root, project.stack_names()), stack).problems)
        expected = {(p.rule, p.level) for p in checked.problems if p.rule in judged_by_rules and p not in broken}
        resources = [inputs(current) for current in checked.declarations[stack]]
        seen = {(current.rule, current.level) for one in resources for current in gate.check_resource(stack, one)}
        seen |= {(current.rule, current.level) for current in gate.check_stack(stack, resources)}
        assert seen == expected


def test_a_urn_begins_with_its_stack() -> None:
    assert stack_of("urn:pulumi:prod::shop::topicwarden:index:TopicSet$kafka:index/topic:Topic::orders") == "prod"


PROGRAM = Path(__file__).with_name("careless_program.py")


@pytest.fixture
def careless(tmp_path: Path) -> Project:
    """A project whose program evaluates no rule, so that only the policy pack can refuse its topics."""
    (tmp_path / "Pulumi.yaml").write_text(
        "name: careless\nmain: stacks/\nstackConfigDir: stacks\n"
        f"runtime: {{name: python, options: {{toolchain: pip, virtualenv: '{REPOSITORY / '.venv'}'}}}}\n"
    )
    shutil.copytree(REPOSITORY / "policies", tmp_path / "policies")
    pack = tmp_path / "policies" / "PulumiPolicy.yaml"
    pack.write_text(pack.read_text().replace("../.venv", str(REPOSITORY / ".venv")))
    (tmp_path / "policies" / "topics.yaml").write_text(
        "rules: {partitions: {max: 6}, owner: {level: warning}, partition-budget: {partitions: 9}}\n"
    )
    (tmp_path / "stacks").mkdir()
    shutil.copy(PROGRAM, tmp_path / "stacks" / "__main__.py")
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text("config: {}\n")
    (tmp_path / "topics").mkdir()
    return Project(tmp_path)


def previewed(project: Project) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, **environment(Project(REPOSITORY)), "PULUMI_BACKEND_URL": project.root.as_uri()}
    for arguments in (
        ("stack", "select", "--create", "dev"),
        ("preview", "--stack", "dev", "--policy-pack", "policies"),
    ):
        answer = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=project.root,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
    return answer


def declare(project: Project, **topics: str) -> None:
    for name, text in topics.items():
        (project.topics / f"{name}.yaml").write_text(text)


def test_the_real_engine_refuses_at_preview_by_topic_name(careless: Project) -> None:
    declare(
        careless,
        wide="{partitions: 7, replication_factor: 3, owner: team-a}",
        stuck="{partitions: 1, replication_factor: 1, owner: team-a, config: {min.insync.replicas: 2}}",
        orphan="{partitions: 2, replication_factor: 3}",
    )
    answer = previewed(careless)
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert "wide: partitions: expected at most 6, got 7 [partitions]" in answer.stdout
    assert "stuck: min.insync.replicas is 2, above the replication factor of 1" in answer.stdout
    assert "[partition-budget]" in answer.stdout
    assert "orphan has no owner" in answer.stdout
    refused = check(careless, ["dev"]).problems
    assert {problem.rule for problem in refused if problem.level is Level.ERROR} == {
        "partitions",
        "min-insync-replicas",
        "partition-budget",
    }


def test_the_real_engine_passes_what_holds(careless: Project) -> None:
    declare(careless, small="{partitions: 3, replication_factor: 3, owner: team-a, config: {min.insync.replicas: 2}}")
    answer = previewed(careless)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "✅ topicwarden@v0.1.0" in answer.stdout
