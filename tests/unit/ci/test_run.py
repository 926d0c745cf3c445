"""Test `topicwarden ci run` and `topicwarden ci stacks` without a cluster. tests/system/workflows uses a real one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import process, topicwarden
from tests.unit.ci import variables

TOPIC = "{partitions: 3, replication_factor: 3}\n"


@pytest.mark.parametrize(("options", "names"), [([], ["dev", "prod"]), (["--sandbox"], ["dev"])])
def test_the_stacks_are_a_matrix(project: Path, options: list[str], names: list[str]) -> None:
    done = topicwarden("ci", "stacks", *options, cwd=project)
    assert (done.code, json.loads(done.out), done.err) == (0, names, "")


@pytest.mark.parametrize(("fail_on", "code"), [("fail", 1), ("never", 0)])
def test_a_check_writes_its_reports_and_annotates(project: Path, tmp_path: Path, fail_on: str, code: int) -> None:
    (project / "topics" / "bad.yaml").write_text(TOPIC.replace("partitions: 3", "partitions: many"))
    run = variables.github(tmp_path)
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
        (["plan"], "--stack is missing: the project has dev, prod"),
        (["plan", "--stack", "prd"], "there is no stack 'prd': stacks/Pulumi.prd.yaml does not exist"),
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
    run = {**variables.github(tmp_path, head="fork/topics"), "PULUMI_ACCESS_TOKEN": ""}
    done = process("ci", "run", "plan", "--stack", "prod", "--out", tmp_path / "out", cwd=project, **run)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("::notice title=topicwarden plan::no plan for stack prod: the run of a fork has no ")
    assert "no plan for stack prod" in (tmp_path / "summary").read_text()


def test_a_lost_executor_does_not_change_the_result(project: Path, tmp_path: Path) -> None:
    run = variables.github(tmp_path, head="fork/topics") | {
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
    run = variables.github(tmp_path) if system == "github" else variables.gitlab()
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
