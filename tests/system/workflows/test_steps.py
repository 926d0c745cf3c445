"""Test the shell lines of the template's jobs on a real cluster with the real engine; only GitHub's API is a fake."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.projects import borrowing_cache, copy_of_the_example
from tests.system.workflows.runner import TEMPLATE, Ran, Runner
from topicwarden.cli.init import CI
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.model.project import Project
from topicwarden.report.plan.markdown import marker
from topicwarden.toolchain import Toolchain

COMMENT = "Create or update the comment"
PERSONS = {"id": 1, "user": {"login": "octocat"}, "body": f"{marker('dev')} quoted by a person"}
CONTEXT = {
    "matrix.stack": "dev",
    "github.token": "the job's token",
    "github.repository": "acme/topics",
    "github.event.pull_request.number": "7",
    "github.event.pull_request.base.sha": "0" * 40,
    "github.event.pull_request.head.repo.full_name": "acme/topics",
    "github.event.pull_request.head.repo.full_name != github.repository": "false",
    "github.event.repository.default_branch": "main",
    "github.run_id": "42",
    "github.run_attempt": "1",
    "inputs.ref": "main",
    "vars.AWS_ROLE_ARN": "",
    "vars.PULUMI_BACKEND_URL": "",
    "vars.REBALANCE_THROTTLE || '50MiB'": "50MiB",
    "secrets.PULUMI_ACCESS_TOKEN": "",
    "secrets.PULUMI_CONFIG_PASSPHRASE": "",
}


@dataclass(frozen=True)
class Clone:
    """The example project with the template's files, as on a runner, and the comments of the pull request."""

    project: Project
    runner: Runner
    comments_file: Path

    def comments(self) -> list[dict[str, object]]:
        return list(json.loads(self.comments_file.read_text())["comments"])

    def calls(self) -> list[list[str]]:
        return list(json.loads(self.comments_file.read_text())["calls"])

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.project.root / "topics" / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def clone(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed; the fake gh filters with it")
    folder = tmp_path_factory.mktemp("workflows")
    project = copy_of_the_example(folder / "clone")
    for part in CI["github"]:
        shutil.copytree(TEMPLATE / part, project.root / part)
    programs, comments_file = folder / "programs", folder / "comments.json"
    programs.mkdir()
    shutil.copy(Path(__file__).with_name("gh"), programs)
    comments_file.write_text(json.dumps({"comments": [PERSONS, PERSONS | {"id": 2, "body": "Fine."}], "calls": []}))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("TOPICWARDEN_CACHE", raising=False)
        patch.setenv("GH_COMMENTS", str(comments_file))
        borrowing_cache(project.root / ".cache")
        try:
            yield Clone(project, Runner(project.root, dict(CONTEXT), programs, base_branch), comments_file)
        finally:
            sandbox_of(project).down(remove=True)


def base_branch(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    copy_of_the_example(folder)
    (folder / ".venv").unlink()


@pytest.fixture(scope="module")
def planned(clone: Clone) -> dict[str, Ran]:
    """A pull request that adds a topic, and lowers the maximum record size of another topic."""
    shutil.copy(clone.project.topics / "partitions" / "my_topic.yaml", clone.project.topics / "partitions" / "new.yaml")
    clone.edit("partitions/new.yaml", "topic: my_topic", "topic: my_new_topic")
    clone.edit("shop/shop.orders.yaml", "config:", "config:\n  max.message.bytes: 512KiB")
    return clone.runner.job("pull-request.yml", "plan")


@pytest.mark.parametrize(("fork", "stacks"), [("false", '["dev","prod"]'), ("true", '["dev"]')])
def test_a_fork_gets_no_stack_that_would_need_secrets(clone: Clone, fork: str, stacks: str) -> None:
    settings = clone.project.stacks / "Pulumi.prod.yaml"
    settings.write_text("config: {'kafka:bootstrapServers': ['broker:9092']}\n")
    here = "github.event.pull_request.head.repo.full_name != github.repository"
    runner = Runner(clone.project.root, {**CONTEXT, here: fork}, clone.runner.programs, base_branch)
    try:
        runner.job("pull-request.yml", "stacks")
    finally:
        settings.unlink()
    assert runner.context["steps.list.outputs.stacks"] == stacks


def test_the_check_judges_and_keeps_its_sarif(clone: Clone) -> None:
    ran = clone.runner.job("pull-request.yml", "check")
    assert [step.code for step in ran.values()] == [0] * len(ran)
    assert json.loads((clone.project.root / "topicwarden.sarif").read_text())["version"] == "2.1.0"


def test_the_plan_is_a_comment_a_summary_and_an_artifact(clone: Clone, planned: dict[str, Ran]) -> None:
    assert {name: step.log for name, step in planned.items() if step.code} == {}
    plan = clone.project.root / "plan"
    assert {path.name for path in plan.iterdir()} == {"plan.json", "plan.md", "plan.txt"}
    changed = {each["topic"]: each["action"] for each in json.loads((plan / "plan.json").read_text())["topics"]}
    assert changed == {"my_new_topic": "create", "shop.orders": "update"}
    body = (plan / "plan.md").read_text(encoding="utf-8")
    assert body.startswith(f"{marker('dev')}\n")
    assert [each["body"] for each in clone.comments()] == [PERSONS["body"], "Fine.", body]
    assert clone.runner.summary.read_text(encoding="utf-8") == body
    assert "plan of stack dev: 2 topics change: 1 create, 1 update" in planned["Plan"].log
    assert planned["Upload the plan"].given == {"name": "plan-dev", "path": "plan/"}


def test_what_is_refused_fails_and_is_written_over_the_same_comment(clone: Clone, planned: dict[str, Ran]) -> None:
    clone.edit("partitions/my_topic.yaml", "partitions: 5", "partitions: 3")
    try:
        ran = clone.runner.job("pull-request.yml", "plan", "Plan")
    finally:
        clone.edit("partitions/my_topic.yaml", "partitions: 3", "partitions: 5")
    assert {name: step.code for name, step in ran.items() if step.code} == {"Plan": 1}
    assert "::error file=topics/partitions/my_topic.yaml,line=7,col=13,title=topicwarden plan" in ran["Plan"].log
    assert len(clone.comments()) == 3
    assert "**refused**" in str(clone.comments()[2]["body"])
    assert clone.calls()[-1] == ["PATCH", "repos/acme/topics/issues/comments/102"]


def test_where_there_is_no_plan_the_comment_says_so(clone: Clone, planned: dict[str, Ran]) -> None:
    clone.edit("partitions/my_topic.yaml", "partitions: 5", "partitions: five")
    try:
        ran = clone.runner.job("pull-request.yml", "plan", "Plan")
    finally:
        clone.edit("partitions/my_topic.yaml", "partitions: five", "partitions: 5")
    assert {name: step.code for name, step in ran.items() if step.code} == {"Plan": 2}
    assert len(clone.comments()) == 3
    first, second = str(clone.comments()[2]["body"]).splitlines()
    assert first == marker("dev")
    assert "no plan for stack dev.** The log of https://github.example/acme/topics/actions/runs/42" in second


def test_a_forks_run_writes_no_comment(clone: Clone, planned: dict[str, Ran]) -> None:
    head = "github.event.pull_request.head.repo.full_name"
    before = len(clone.calls())
    runner = Runner(clone.project.root, {**CONTEXT, head: "fork/topics"}, clone.runner.programs, base_branch)
    ran = runner.job("pull-request.yml", "plan", "Plan")
    assert COMMENT not in ran
    assert ran["Plan"].code == 0
    assert len(clone.calls()) == before


def test_a_deploy_applies_and_the_same_again_changes_nothing(clone: Clone, planned: dict[str, Ran]) -> None:
    for expected in ("+ 1 created", "unchanged"):
        ran = clone.runner.job("deploy.yml", "deploy")
        assert {name: step.log for name, step in ran.items() if step.code} == {}
        assert expected in ran["Deploy"].log
    assert "created" not in ran["Deploy"].log
    assert "updated" not in ran["Deploy"].log


def test_the_audit_keeps_its_reports(clone: Clone, planned: dict[str, Ran]) -> None:
    ran = clone.runner.job("audit.yml", "audit")
    assert {name: step.log for name, step in ran.items() if step.code} == {}
    uploaded = {path.name for path in (clone.project.root / "reports").iterdir()}
    assert {"report.html", "report.md", "report.json"} <= uploaded
    assert clone.runner.summary.read_text(encoding="utf-8").startswith("# Audit of stack dev")
    assert ran["Upload the reports"].given == {"name": "audit-dev", "path": "reports/"}
    assert ("Upload the findings to code scanning" in ran) == ("report.sarif" in uploaded)
