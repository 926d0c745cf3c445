"""Test the values of a CI run, the comment on a pull request, and the backend of Pulumi."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.command import Outcome, process, topicwarden
from tests.support.comment_server import (
    BOT,
    PERSON,
    TOKEN,
    CommentServer,
    comment_server,
    github_variables,
    gitlab_variables,
)
from tests.unit.report import plans
from topicwarden.cli import ci
from topicwarden.model.project import Project
from topicwarden.model.verdict import FailOn
from topicwarden.report.plan import render
from topicwarden.report.plan.document import marker


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two stacks. The stack ``dev`` uses a sandbox."""
    folder = tmp_path / "my project"
    files = {
        "Pulumi.yaml": "name: p\nruntime: python\n",
        "topics/orders.yaml": "{partitions: 3, replication_factor: 3}\n",
        "stacks/Pulumi.dev.yaml": "config: {'topicwarden:cluster': sandbox}\n",
        "stacks/Pulumi.prod.yaml": "config: {'kafka:bootstrapServers': ['127.0.0.1:9']}\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


# `topicwarden ci run` and `topicwarden ci stacks` without a cluster. tests/system/workflows uses a real one.

TOPIC = "{partitions: 3, replication_factor: 3}\n"


@pytest.mark.parametrize(("options", "names"), [([], ["dev", "prod"]), (["--sandbox"], ["dev"])])
def test_the_stacks_are_a_matrix(project: Path, options: list[str], names: list[str]) -> None:
    done = topicwarden("ci", "stacks", *options, cwd=project)
    assert (done.code, json.loads(done.out), done.err) == (0, names, "")


@pytest.mark.parametrize(("fail_on", "code"), [("fail", 1), ("never", 0)])
def test_a_check_writes_its_reports_and_annotates(project: Path, tmp_path: Path, fail_on: str, code: int) -> None:
    (project / "topics" / "bad.yaml").write_text(TOPIC.replace("partitions: 3", "partitions: many"))
    run = github_variables(tmp_path)
    done = process("ci", "run", "check", "--out", tmp_path / "out", "--fail-on", fail_on, cwd=project / "topics", **run)
    assert done.code == code
    assert "::error file=topics/bad.yaml,line=1" in done.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"check.json", "check.sarif", "check.xml"}


def test_arguments_are_split_as_in_a_shell_but_never_run_by_one(project: Path, tmp_path: Path) -> None:
    arguments = "--format json 'topics/a b;touch broken.yaml' $(touch broken)"
    done = process("ci", "run", "check", "--out", tmp_path / "out", f"--arguments={arguments}", cwd=project)
    assert done.code == 2
    assert "topics/a b;touch broken.yaml" in done.err
    assert list(tmp_path.rglob("*broken*")) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["deploy"], "there is no command 'deploy' for CI: expected one of check, plan, up, rebalance, audit"),
        (["plan"], "select one with --stack: dev, prod"),
        (["plan", "--stack", "prd"], "no stack prd; stacks: "),
        (
            ["up", "--stack", "dev", "--fail-on", "suspect"],
            "--fail-on suspect: expected fail or never for the com",
        ),
        (["check", "--arguments", "'"], '--arguments "\'": No closing quotation'),
    ],
)
def test_an_invalid_option_is_reported_in_one_line(project: Path, arguments: list[str], message: str) -> None:
    done = topicwarden("ci", "run", *arguments, cwd=project)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err


def test_a_fork_without_secrets_passes_with_a_notice(project: Path, tmp_path: Path) -> None:
    run = {**github_variables(tmp_path, head="fork/topics"), "PULUMI_ACCESS_TOKEN": ""}
    done = process("ci", "run", "plan", "--stack", "prod", "--out", tmp_path / "out", cwd=project, **run)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("::notice title=topicwarden plan::no plan for stack prod: the run of a fork has no ")
    assert "no plan for stack prod" in (tmp_path / "summary").read_text()


def test_a_run_of_dependabot_without_secrets_passes_with_a_notice(project: Path, tmp_path: Path) -> None:
    run = {**github_variables(tmp_path), "PULUMI_ACCESS_TOKEN": "", "GITHUB_ACTOR": "dependabot[bot]"}
    done = process("ci", "run", "plan", "--stack", "prod", "--out", tmp_path / "out", cwd=project, **run)
    assert (done.code, done.err) == (0, "")
    assert "the run of Dependabot has no secrets" in done.out
    assert "no plan for stack prod" in (tmp_path / "summary").read_text()


def test_a_lost_executor_does_not_change_the_result(project: Path, tmp_path: Path) -> None:
    run = github_variables(tmp_path, head="fork/topics") | {
        "GITHUB_STEP_SUMMARY": str(tmp_path / "missing" / "summary")
    }
    done = process("ci", "run", "plan", "--stack", "prod", "--out", tmp_path / "out", cwd=project, **run)
    assert (done.code, done.err.startswith("the job summary ")) == (0, True)
    run["GITHUB_EVENT_PATH"] = str(tmp_path / "missing")
    assert process("ci", "run", "check", "--out", tmp_path / "out", cwd=project, **run).code == 0
    done = process("ci", "run", "plan", "--stack", "prod", "--out", tmp_path / "out", cwd=project, **run)
    assert (done.code, done.err.startswith("topicwarden: GITHUB_EVENT_PATH: expected")) == (2, True)


@pytest.mark.parametrize("system", ["github", "gitlab"])
def test_a_plan_that_cannot_run_leaves_a_comment_that_says_so(project: Path, tmp_path: Path, system: str) -> None:
    run = github_variables(tmp_path) if system == "github" else gitlab_variables()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "plan.md").write_text("an old plan")
    done = process("ci", "run", "plan", "--stack", "prod", "--out", tmp_path / "out", cwd=project, **run)
    assert done.code == 2
    marker, reason = (tmp_path / "out" / "plan.md").read_text().splitlines()
    assert marker == "<!-- topicwarden plan prod -->"
    assert reason.startswith(
        f"**There is no plan for stack <code>prod</code>.** The log of https://{system}.example/acme/topics/"
    )
    assert (tmp_path / "summary").exists() == (system == "github")


# Which credentials of Pulumi a command gets in CI.

SECRETS = {"PULUMI_ACCESS_TOKEN": "token", "PULUMI_CONFIG_PASSPHRASE": "mine", "PULUMI_BACKEND_URL": "s3://state"}


@pytest.fixture(autouse=True)
def working_directory(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)


def given_to(stack: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return Pulumi's variables that an audit of ``stack`` gets, in a job with ``variables``."""
    given: list[dict[str, str]] = []

    def topicwarden(_: Project, *__: str, **___: object) -> int:
        given.append({name: value for name, value in os.environ.items() if name in SECRETS})
        return 0

    monkeypatch.setattr(os, "environ", {**os.environ, **variables})
    monkeypatch.setattr(ci, "_topicwarden", topicwarden)
    monkeypatch.setattr("topicwarden.deploy.pulumi_stacks.provide_stack", lambda *_: None)
    assert ci.run("audit", stack, Path("reports"), fail_on=FailOn.FAIL) == 0
    return given[-1]


def test_a_stack_gets_the_secrets_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given_to("prod", SECRETS, monkeypatch) == SECRETS


def test_an_unset_secret_is_no_empty_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    unset = {**SECRETS, "PULUMI_CONFIG_PASSPHRASE": "", "PULUMI_BACKEND_URL": ""}
    expected = {"PULUMI_ACCESS_TOKEN": "token", "PULUMI_BACKEND_URL": "https://api.pulumi.com"}
    assert given_to("prod", unset, monkeypatch) == expected


def test_a_sandbox_gets_no_secret_of_another_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given_to("dev", SECRETS, monkeypatch) == {}


# `topicwarden ci comment` against a stand-in for the APIs of GitHub and GitLab.

Comment = Callable[[str], Outcome]
QUOTED = f"{marker('dev')} quoted by a person"
PERSONS = [{"id": number, "body": QUOTED, **PERSON} for number in range(3)]
OTHER = {"id": 50, "body": f"{marker('prod')}\nanother stack", **BOT}


@pytest.fixture
def server() -> Iterator[CommentServer]:
    with comment_server([*PERSONS, OTHER]) as running:
        yield running


@pytest.fixture(params=["github", "gitlab"])
def comment(request: pytest.FixtureRequest, server: CommentServer, tmp_path: Path) -> Comment:
    """A function that writes its text as the comment of a run."""
    run = github_variables(tmp_path, server.url) if request.param == "github" else gitlab_variables(server.url)

    def write(text: str) -> Outcome:
        file = tmp_path / "plan.md"
        file.write_text(text, encoding="utf-8")
        return topicwarden("ci", "comment", file, cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)

    return write


def test_one_comment_is_created_and_then_updated(comment: Comment, server: CommentServer) -> None:
    for report in (plans.rich(), plans.empty(), plans.many(400)):
        body = render(report, "markdown")
        done = comment(body.replace(marker(report.stack), marker("dev")))
        assert (done.code, done.out) == (0, "")
        assert server.bodies == [QUOTED] * 3 + [str(OTHER["body"]), body.replace(marker(report.stack), marker("dev"))]
    assert [call.partition(" ")[0] for call in server.changes] in (["POST", "PATCH", "PATCH"], ["POST", "PUT", "PUT"])


def test_a_transient_error_is_retried_but_no_comment_is_written_twice(
    comment: Comment, server: CommentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    server.errors = {"POST": [502]}
    assert comment(marker("dev")).code == 2
    assert len(server.changes) == 1
    server.errors = {"GET": [503, 429]}
    assert comment(marker("dev")).code == 0
    assert server.bodies.count(marker("dev")) == 1


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (403, "answers HTTP 403 Forbidden; the "),
        (401, "answers HTTP 401 Unauthorized; the "),
        (302, "answers HTTP 302 Found"),
        (500, "answers HTTP 500 Internal Server Error"),
    ],
)
def test_a_refusal_of_the_api_is_one_line_without_the_token(
    comment: Comment, server: CommentServer, status: int, message: str
) -> None:
    server.errors = {"GET": [status]}
    done = comment(marker("dev"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert message in done.err
    assert TOKEN not in done.err
    assert server.changes == []


def test_a_read_only_token_ends_with_a_warning(comment: Comment, server: CommentServer) -> None:
    """Runs of Dependabot have such a token. The summary of the job has the plan."""
    server.errors = {"POST": [403]}
    done = comment(marker("dev"))
    assert (done.code, done.err) == (0, "")
    assert "warning" in done.out
    assert "403" in done.out
    assert "job summary" in done.out
    assert TOKEN not in done.out


def test_projects_of_one_repository_have_comments_of_their_own(server: CommentServer, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "plan.md").write_text(f"{marker('dev')}\n**Nothing to do**\n")
    run = github_variables(tmp_path, server.url)
    before = len(server.bodies)
    for _ in range(2):
        for folder in ("kafka/orders", "kafka/payments"):
            (tmp_path / folder / "topics").mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / "Pulumi.yaml").write_text("name: p\nruntime: python\n")
            command = ("ci", "comment", tmp_path / "plan.md")
            done = topicwarden(*command, cwd=tmp_path / folder, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
            assert done.code == 0, done.err
    orders, payments = server.bodies[before:]
    assert "kafka/orders" in orders
    assert "kafka/payments" in payments
    assert "**Nothing to do**" in orders


def test_an_api_that_does_not_answer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    (tmp_path / "plan.md").write_text(marker("dev"))
    run = github_variables(tmp_path, "http://127.0.0.1:9")
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
    assert done.code == 2
    assert "http://127.0.0.1:9/repos/acme/topics/issues/7/comments" in done.err
    assert "no answer: " in done.err


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({}, "no comment: this is no run of a pull request or merge request\n"),
        (
            gitlab_variables(project="6"),
            "no comment: the run of a fork may not write one",
        ),
        (gitlab_variables(), "no comment: TOPICWARDEN_COMMENT_TOKEN is not set\n"),
    ],
    ids=["no pull request", "fork", "no token"],
)
def test_a_run_without_a_comment_reports_the_reason(tmp_path: Path, run: dict[str, str], message: str) -> None:
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, **run)
    assert (done.code, done.out, done.err.startswith(message)) == (0, "", True)


@pytest.mark.parametrize("head", ["fork/topics", None], ids=["a fork", "a deleted fork"])
def test_a_fork_on_github_gets_no_comment(tmp_path: Path, head: object) -> None:
    run = github_variables(tmp_path, head=head)
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
    assert (done.code, done.err.startswith("no comment: the run of a fork")) == (0, True)


def test_a_missing_plan_and_a_broken_event_are_reported_in_one_line(tmp_path: Path) -> None:
    run = github_variables(tmp_path)
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
    assert (done.code, done.err.startswith("topicwarden: plan.md: expected the file plan.md")) == (2, True)
    (tmp_path / "event.json").write_text('{"pull_request": null}')
    done = topicwarden("ci", "comment", "plan.md", cwd=tmp_path, TOPICWARDEN_COMMENT_TOKEN=TOKEN, **run)
    assert (done.code, done.err.startswith("topicwarden: GITHUB_EVENT_PATH: expected the JSON")) == (2, True)
