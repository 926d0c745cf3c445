"""Test the shell lines of the template's jobs, of the Action and of GitLab's component.

They run on a real cluster with the real engine. Only the APIs of GitHub and GitLab are stand-ins.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.comment_server import (
    BOT,
    PERSON,
    TOKEN,
    CommentServer,
    comment_server,
    github_variables,
    gitlab_variables,
)
from tests.support.projects import borrowing_cache, copy_of_the_example
from tests.system.workflows.runner import PAGE_WORKFLOWS, TEMPLATE, Ran, Runner, component_jobs
from topicwarden.cli.init import CI
from topicwarden.cli.sandbox import sandbox_of
from topicwarden.model.project import Project
from topicwarden.report.plan.document import marker
from topicwarden.toolchain import Toolchain

COMMENT = "Create or update the comment"
RUN = "Run the command"
PERSONS = [{"id": 1, "body": f"{marker('dev')} quoted by a person", **PERSON}, {"id": 2, "body": "Fine.", **BOT}]
REQUIREMENT = "topicwarden @ https://packages.example.com/topicwarden-0.1.0-py3-none-any.whl\n"
UNRELEASED = "topicwarden is not released yet: write the address of a wheel or a Git commit into requirements.txt"
FORK = "github.event.pull_request.head.repo.full_name"
CONTEXT = {
    "matrix.stack": "dev",
    "github.token": TOKEN,
    "github.repository": "acme/topics",
    "github.event_name": "pull_request",
    "github.event.pull_request.base.sha": "0" * 40,
    FORK: "acme/topics",
    f"{FORK} != github.repository": "false",
    "github.event.repository.default_branch": "main",
    "github.run_id": "42",
    "github.run_attempt": "1",
    "inputs.ref": "main",
    "vars.AWS_ROLE_ARN": "",
    "vars.AWS_REGION": "",
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
    server: CommentServer

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.project.root / "topics" / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    def with_run(self, **context: str) -> Runner:
        """Return the same machine with another context."""
        return Runner(self.project.root, CONTEXT | context, self.runner.variables, self.runner.programs, base_branch)


@pytest.fixture(scope="module")
def clone(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clone]:
    folder = tmp_path_factory.mktemp("workflows")
    project = copy_of_the_example(folder / "clone")
    for part in CI["github"]:
        shutil.copytree(TEMPLATE / part, project.root / part)
    (project.root / "requirements.txt").write_text(REQUIREMENT)
    (folder / "programs").mkdir()
    (folder / "programs" / "pulumi").symlink_to(tools.pulumi)
    with pytest.MonkeyPatch.context() as patch, comment_server(PERSONS) as server:
        patch.delenv("TOPICWARDEN_CACHE", raising=False)
        borrowing_cache(project.root / ".cache")
        run = {**github_variables(folder, server.url), "NO_PROXY": "127.0.0.1"}
        try:
            yield Clone(project, Runner(project.root, dict(CONTEXT), run, folder / "programs", base_branch), server)
        finally:
            sandbox_of(project).down(remove=True)


def base_branch(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    copy_of_the_example(folder)
    (folder / ".venv").unlink()


@contextmanager
def merge_commit(clone: Clone) -> Iterator[None]:
    """Let the clone be a Git work tree whose last commit has a parent, as GitHub checks out a pull request."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        ["commit", "-qm", "base"],
        ["commit", "-qm", "a", "--allow-empty"],
    ):
        subprocess.run([*git, *command], cwd=clone.project.root, check=True)
    try:
        yield
    finally:
        shutil.rmtree(clone.project.root / ".git")


def failures(ran: dict[str, Ran]) -> dict[str, str]:
    return {name: step.log for name, step in ran.items() if step.code}


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
    runner = clone.with_run(**{f"{FORK} != github.repository": fork})
    try:
        runner.job("pull-request.yml", "stacks")
    finally:
        settings.unlink()
    assert runner.context["steps.list.outputs.stacks"] == stacks


def test_the_check_judges_and_keeps_its_sarif(clone: Clone) -> None:
    with merge_commit(clone):
        ran = clone.runner.job("pull-request.yml", "check")
    assert failures(ran) == {}
    checked = ran["Check the declared topics, and their schemas against those of the target branch"]
    assert checked.steps["Install topicwarden"].log == "pip install --quiet --requirement requirements.txt\n"
    assert checked.given["extra-arguments"] == "--base HEAD^1"
    sarif = Path(ran["Upload the problems to code scanning"].given["sarif_file"])
    assert json.loads(sarif.read_text())["version"] == "2.1.0"


def test_the_plan_is_a_comment_a_summary_and_an_artifact(clone: Clone, planned: dict[str, Ran]) -> None:
    assert failures(planned) == {}
    steps = planned["Plan"].steps
    plan = Path(steps["Upload the reports"].given["path"])
    assert {path.name for path in plan.iterdir()} == {"plan.json", "plan.md", "plan.txt"}
    assert steps["Upload the reports"].given["name"] == "topicwarden-plan-dev"
    changed = {each["topic"]: each["action"] for each in json.loads((plan / "plan.json").read_text())["topics"]}
    assert changed == {"my_new_topic": "create", "shop.orders": "update"}
    body = (plan / "plan.md").read_text(encoding="utf-8")
    assert body.startswith(f"{marker('dev')}\n")
    assert clone.server.bodies == [*(str(each["body"]) for each in PERSONS), body]
    assert clone.runner.summary.read_text(encoding="utf-8") == f"{body}\n"
    assert "plan of stack dev: 2 topics change: 1 create, 1 update" in planned["Plan"].log


def test_a_refused_plan_fails_and_updates_the_same_comment(clone: Clone, planned: dict[str, Ran]) -> None:
    clone.edit("partitions/my_topic.yaml", "partitions: 5", "partitions: 3")
    try:
        with merge_commit(clone):
            ran = clone.runner.page_job(PAGE_WORKFLOWS[0], "dev")
    finally:
        clone.edit("partitions/my_topic.yaml", "partitions: 3", "partitions: 5")
    assert {name: step.code for name, step in ran.items() if step.code} == {"plan": 1}
    assert "::error file=topics/partitions/my_topic.yaml,line=7,col=13,title=topicwarden plan" in ran["plan"].log
    assert len(clone.server.comments) == 3
    assert "**refused**" in clone.server.bodies[2]
    assert clone.server.changes[-1] == "PATCH /repos/acme/topics/issues/comments/102"


@pytest.mark.nightly("The suite keeps a refused plan that fails, and plans with a comment.")
def test_the_inputs_say_whether_a_refused_plan_fails_and_has_a_comment(clone: Clone, planned: dict[str, Ran]) -> None:
    clone.edit("partitions/my_topic.yaml", "partitions: 5", "partitions: 3")
    try:
        lenient = clone.runner.action(command="plan", stack="dev", fail_on="never", comment="false")
    finally:
        clone.edit("partitions/my_topic.yaml", "partitions: 3", "partitions: 5")
    assert (lenient.code, COMMENT in lenient.steps) == (0, False)


@pytest.mark.nightly("The suite keeps the comments of plans that are there.")
def test_a_missing_plan_is_named_in_the_comment(clone: Clone, planned: dict[str, Ran]) -> None:
    clone.edit("partitions/my_topic.yaml", "partitions: 5", "partitions: five")
    try:
        ran = clone.runner.action(command="plan", stack="dev")
    finally:
        clone.edit("partitions/my_topic.yaml", "partitions: five", "partitions: 5")
    assert {name: step.code for name, step in ran.steps.items() if step.code} == {RUN: 2}
    assert len(clone.server.comments) == 3
    first, second = clone.server.bodies[2].splitlines()
    assert first == marker("dev")
    assert "The log of https://github.example/acme/topics/actions/runs/42 has the reason." in second


@pytest.mark.nightly("The stacks of a fork stay in test_a_fork_gets_no_stack_that_would_need_secrets.")
def test_a_forks_run_writes_no_comment(clone: Clone, planned: dict[str, Ran]) -> None:
    before = len(clone.server.calls)
    folder = clone.project.root.parent / "fork"
    folder.mkdir()
    run = {**clone.runner.variables, **github_variables(folder, clone.server.url, head="fork/topics")}
    runner = Runner(clone.project.root, {**CONTEXT, FORK: "fork/topics"}, run, clone.runner.programs, base_branch)
    ran = runner.action(command="plan", stack="dev")
    assert ran.code == 0
    assert "no comment: the run of a fork" in ran.steps[COMMENT].log
    assert len(clone.server.calls) == before


@pytest.mark.nightly("The suite keeps requirements that exist, and none.", stays=("the project's", "none"))
@pytest.mark.parametrize(
    ("given", "requirements", "code", "log"),
    [
        ({}, REQUIREMENT, 0, "pip install --quiet --requirement requirements.txt\n"),
        ({"version": "0.2.0"}, REQUIREMENT, 0, "pip install --quiet topicwarden==0.2.0\n"),
        ({}, None, 2, f"::error::{UNRELEASED}\n"),
        ({}, (TEMPLATE / "project" / "requirements.txt").read_text(encoding="utf-8"), 2, f"::error::{UNRELEASED}\n"),
    ],
    ids=["the project's", "the input's", "none", "not filled in"],
)
def test_a_check_installs_what_the_project_or_the_input_names_without_extras(
    clone: Clone, given: dict[str, str], requirements: str | None, code: int, log: str
) -> None:
    file = clone.project.topics / "requirements.txt"
    if requirements is not None:
        file.write_text(requirements)
    try:
        ran = clone.runner.action(command="check", working_directory="topics", **given)
    finally:
        file.unlink(missing_ok=True)
    install = ran.steps["Install topicwarden"]
    assert (install.code, install.log) == (code, log)


def test_no_input_is_interpreted_by_a_shell(clone: Clone) -> None:
    hostile = """x" '; touch broken #$(touch broken)`touch broken`"""
    for name in ("command", "stack", "version", "extra_arguments", "fail_on"):
        ran = clone.runner.action(**{"command": "check", name: hostile})
        assert (name, ran.code) == (name, 0 if name == "version" else 2)
    assert list(clone.project.root.parent.rglob("broken*")) == []


def test_a_pull_request_target_event_with_secrets_is_refused(clone: Clone) -> None:
    ran = clone.with_run(**{"github.event_name": "pull_request_target"}).action(command="check")
    assert {name: step.code for name, step in ran.steps.items()} == {
        "Refuse an event that combines secrets with the code of strangers": 2
    }


@pytest.fixture(scope="module")
def deployed(clone: Clone, planned: dict[str, Ran]) -> dict[str, Ran]:
    return clone.runner.job("deploy.yml", "deploy")


def test_a_deploy_creates_what_was_planned(deployed: dict[str, Ran]) -> None:
    assert failures(deployed) == {}
    assert "+ 1 created" in deployed["Deploy"].log


@pytest.mark.nightly("The suite keeps the first deploy; tests/engine keeps second ones.")
def test_a_second_deploy_changes_nothing(clone: Clone, deployed: dict[str, Ran]) -> None:
    again = clone.runner.page_job(PAGE_WORKFLOWS[1], "dev")
    assert failures(again) == {}
    assert "unchanged" in again["up"].log
    assert "created" not in again["up"].log
    assert "updated" not in again["up"].log


def test_the_audit_keeps_its_reports(clone: Clone, planned: dict[str, Ran]) -> None:
    ran = clone.runner.job("audit.yml", "audit")
    assert failures(ran) == {}
    reports = Path(ran["Audit"].steps["Upload the reports"].given["path"])
    assert {"report.html", "report.md", "report.json", "report.sarif"} <= {path.name for path in reports.iterdir()}
    assert clone.runner.summary.read_text(encoding="utf-8").startswith("# Audit of stack dev")
    assert Path(ran["Upload the findings to code scanning"].given["sarif_file"]).is_file()


@pytest.fixture(scope="module")
def merge_request(clone: Clone, planned: dict[str, Ran]) -> Iterator[Runner]:
    """The same clone as on a runner of GitLab, with the remote repository that has the target branch."""
    origin = clone.project.root.parent / "origin"
    base_branch(origin)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "base"]):
        subprocess.run([*git, *command], cwd=origin, check=True)
    for command in (["init", "--quiet"], ["remote", "add", "origin", str(origin)]):
        subprocess.run([*git, *command], cwd=clone.project.root, check=True)
    base = subprocess.run([*git, "rev-parse", "HEAD"], cwd=origin, check=True, capture_output=True, text=True)
    run = {
        **gitlab_variables(clone.server.url),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": base.stdout.strip(),
        "CI_DEFAULT_BRANCH": "main",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "TOPICWARDEN_COMMENT_TOKEN": TOKEN,
    }
    clone.server.comments[:] = PERSONS
    yield Runner(clone.project.root, {}, run, clone.runner.programs, base_branch)
    shutil.rmtree(clone.project.root / ".git")


@pytest.mark.nightly("The suite keeps GitHub's steps, and the files for GitLab.")
def test_gitlab_plans_with_one_note_deploys_and_audits(clone: Clone, merge_request: Runner) -> None:
    jobs = component_jobs({"stack": "dev"})
    shutil.rmtree(clone.project.root / ".cache" / "base")
    for _ in range(2):
        ran = merge_request.gitlab(jobs["plan dev"])
        assert ran.code == 0, ran.log
    assert len(clone.server.comments) == 3
    assert clone.server.bodies[2].startswith(marker("dev"))
    assert clone.server.changes[-2:] == [
        "POST /projects/5/merge_requests/7/notes",
        "PUT /projects/5/merge_requests/7/notes/102",
    ]
    for job in ("check dev", "deploy dev", "audit dev"):
        ran = merge_request.gitlab(jobs[job])
        assert ran.code == 0, ran.log
    reports = {path.name for path in (clone.project.root / "topicwarden-reports").iterdir()}
    assert {"check.xml", "plan.md", "report.xml", "report.html"} <= reports
