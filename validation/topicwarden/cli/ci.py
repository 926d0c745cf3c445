"""`topicwarden ci`: run a command as a job of a CI system, comment on the pull request, and list stacks.

The GitHub Action, the GitLab component and the template workflows all call these commands.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from topicwarden import child_processes
from topicwarden.cli.options import OnlyStack
from topicwarden.model.problem import Refusal
from topicwarden.model.project import CACHE, Project, find_project
from topicwarden.model.verdict import FailOn
from topicwarden.report.output_folder import write_files
from topicwarden.report.terminal_output import note
from topicwarden.specs.stacks.stack_selection import only_stack

if TYPE_CHECKING:
    from topicwarden.operations.ci import CiRun

app = typer.Typer(help="Run topicwarden in GitHub Actions, GitLab CI and other CI systems.", no_args_is_help=True)

COMMANDS: Final = ("check", "plan", "up", "rebalance", "audit")
TOKEN: Final = "TOPICWARDEN_COMMENT_TOKEN"
"""The variable with the token that writes the comment."""

_CLOUD: Final = "https://api.pulumi.com"
_TOKEN: Final = "PULUMI_ACCESS_TOKEN"
_PASSPHRASE: Final = "PULUMI_CONFIG_PASSPHRASE"
_BACKEND: Final = "PULUMI_BACKEND_URL"
_SUMMARIES: Final = {"plan": "plan.md", "audit": "report.md"}
"""The report of a command that GitHub's job summary shows."""
_PROGRAM: Final = "import sys; sys.argv[0] = 'topicwarden'; from topicwarden.cli.main import run; run()"
_MAX_SUMMARY: Final = 1_000_000
"""Bytes of a report in GitHub's job summary, which may have 1 MiB."""


@dataclass(frozen=True)
class CiJob:
    """One command in CI. ``out`` is the folder for its reports. ``base`` is a checkout of the target branch."""

    command: str
    stack: str
    out: Path
    base: Path | None
    fail_on: FailOn
    arguments: Sequence[str]
    run: CiRun


@app.command("run", epilog="Example: topicwarden ci run plan --stack dev --out plan/")
def run(
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="check, plan, up, rebalance or audit.")],
    stack: OnlyStack = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for report files.")] = Path(
        "reports"
    ),
    *,
    base: Annotated[
        Path | None,
        typer.Option(
            "--base",
            metavar="DIR",
            help="The project in a checkout of the target branch. If the stack is on the sandbox, a plan compares with "
            "this project.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="never: exit code 0 instead of 1. fail: the command's own exit code. An audit also has suspect and "
            "undecidable.",
        ),
    ] = FailOn.FAIL,
    arguments: Annotated[
        str, typer.Option("--arguments", metavar="TEXT", help="More arguments of the command: '--rate 50MiB'.")
    ] = "",
) -> int:
    """Run a command as a job: start the sandbox if the stack uses it, write report files and the job summary."""
    from topicwarden.operations.ci import ci_run

    if command not in COMMANDS:
        raise Refusal(f"there is no command {command!r} for CI: expected one of {', '.join(COMMANDS)}")
    if command != "audit" and fail_on not in (FailOn.FAIL, FailOn.NEVER):
        raise Refusal(f"--fail-on {fail_on}: expected fail or never for the command {command}")
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        raise Refusal(f"--arguments {arguments!r}: {error}") from error
    project = find_project()
    reports = out.absolute()
    if command == "check":
        code = _topicwarden(project, "check", *(("--stack", stack) if stack else ()), "--out", str(reports), *words)
    else:
        code = _on_stack(
            project, CiJob(command, only_stack(project, stack), reports, base, fail_on, words, ci_run(os.environ))
        )
    return 0 if code == 1 and fail_on is FailOn.NEVER else code


@app.command("comment", epilog="Example: topicwarden ci comment plan/plan.md")
def comment(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="plan.md of `topicwarden plan --out DIR`.")],
) -> int:
    """Write the plan as a comment on the pull request of this run, over the comment of an earlier run.

    The token is in TOPICWARDEN_COMMENT_TOKEN.
    """
    from topicwarden.operations.ci import ReadOnlyToken, ci_run, comments

    here, token = ci_run(os.environ), os.environ.get(TOKEN)
    if here.pull_request is None:
        note("no comment: this is no run of a pull request or merge request")
    elif here.pull_request.fork:
        note("no comment: the run of a fork may not write one; see the job summary or the log")
    elif not token:
        note(f"no comment: {TOKEN} is not set")
    else:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Refusal(f"{file}: expected the file plan.md of `topicwarden plan --out DIR`: {error}") from error
        try:
            note(f"{comments(here, here.pull_request, token).keep(_of_project(text))} the comment")
        except ReadOnlyToken as refusal:
            _warn(here, f"no comment: {refusal}; see the job summary or the log for the plan")
    return 0


def _of_project(text: str) -> str:
    """Return the comment with the folder of the project, if the project is not the whole repository."""
    from topicwarden.report.plan.comment import project_marker
    from topicwarden.report.problems.digest import ProblemDigest

    try:
        folder = ProblemDigest(find_project().root, (), (), 0).prefix.rstrip("/")
    except Refusal:
        return text
    marker, line_break, rest = text.partition("\n")
    return f"{project_marker(marker, folder)}{line_break}{rest}" if folder else text


def _warn(run: CiRun, text: str) -> None:
    print(f"::warning title=topicwarden plan::{text}" if run.system == "github" else f"warning: {text}", flush=True)


@app.command("stacks", epilog="Example: topicwarden ci stacks --sandbox")
def stacks(
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Only stacks whose cluster is the sandbox.")] = False,
) -> int:
    """Print the stacks of the project as a JSON array, for a matrix of jobs."""
    from topicwarden.kafka.connect.stack_connection import on_sandbox

    project = find_project()
    print(json.dumps([name for name in project.stack_names() if not sandbox or on_sandbox(project, name)]))
    return 0


def _on_stack(project: Project, job: CiJob) -> int:
    from topicwarden.kafka.connect.stack_connection import on_sandbox
    from topicwarden.report.plan.comment import no_plan

    local = on_sandbox(project, job.stack)
    _choose_backend(local)
    if job.command == "plan":
        write_files(job.out, {"plan.md": no_plan(job.stack, job.run.log)})
        if not local and _without_secrets(job.run):
            return _skip(job)
    if local:
        _start_sandbox(project, job)
    code = _topicwarden(project, "check", "--stack", job.stack) if job.command == "up" else 0
    code = code or _topicwarden(project, *_arguments(job))
    report = job.out / _SUMMARIES.get(job.command, "")
    if report.is_file():
        _summarize(job.run, report.read_bytes())
    return code


def _choose_backend(local: bool) -> None:
    """Remove Pulumi's variables that would select the wrong backend: empty ones, and all for a sandbox.

    An unset secret of a workflow is an empty string. The state of a sandbox, which ends with the job, is beside it.
    """
    for name in (_TOKEN, _PASSPHRASE, _BACKEND):
        if local or not os.environ.get(name):
            os.environ.pop(name, None)
    if _TOKEN in os.environ:
        os.environ.setdefault(_BACKEND, _CLOUD)


def _arguments(job: CiJob) -> list[str]:
    own = {
        "plan": ["--out", str(job.out)],
        "up": ["--yes"],
        "rebalance": ["--yes"],
        "audit": ["--out", str(job.out), "--since", "last", "--fail-on", job.fail_on.value],
    }
    return [job.command, "--stack", job.stack, *own[job.command], *job.arguments]


def _start_sandbox(project: Project, job: CiJob) -> None:
    """Start the sandbox, and deploy to it what the command needs. Raises Refusal if the sandbox does not start."""
    from topicwarden.deploy.pulumi_stacks import provide_stack
    from topicwarden.toolchain import environment

    if _topicwarden(project, "sandbox", "up"):
        raise Refusal(f"the sandbox of stack {job.stack} does not start; the reason is above")
    provide_stack(project, job.stack)
    deployed = project
    if job.command == "plan":
        if job.base is None or not (job.base / "stacks" / f"Pulumi.{job.stack}.yaml").is_file():
            return
        deployed = Project(job.base.resolve())
    elif job.command == "up":
        return
    note(f"deploying {deployed.root} to the sandbox, as the state to compare with")
    shared = {**environment(project, job.stack), CACHE: str(project.cache)}
    if _topicwarden(deployed, "up", "--stack", job.stack, "--yes", variables=shared):
        note("the deploy to the sandbox failed: the reason is above, and topics are missing there")


def _without_secrets(run: CiRun) -> bool:
    fork = run.pull_request is not None and (run.pull_request.fork or run.pull_request.dependabot)
    return fork and not {_TOKEN, _PASSPHRASE} & os.environ.keys()


def _skip(job: CiJob) -> int:
    """Say that the stack cannot be planned without secrets. This is no failure: the author can do nothing about it."""
    dependabot = job.run.pull_request is not None and job.run.pull_request.dependabot
    who, remedy = ("a fork", "a maintainer can plan its branch")
    if dependabot:
        who, remedy = "Dependabot", "add Dependabot secrets"
    reason = f"no plan for stack {job.stack}: the run of {who} has no secrets; {remedy}"
    print(f"::notice title=topicwarden plan::{reason}" if job.run.system == "github" else reason, flush=True)
    _summarize(job.run, f"**{reason}**\n".encode())
    return 0


def _summarize(run: CiRun, text: bytes) -> None:
    """Add ``text`` to GitHub's job summary. The result of the command counts even if that fails."""
    if run.summary is not None:
        try:
            with run.summary.open("ab") as summary:
                summary.write(text[:_MAX_SUMMARY].decode(errors="ignore").encode() + b"\n")
        except OSError as error:
            note(f"the job summary {run.summary} cannot be written: {error.strerror}")


def _topicwarden(project: Project, *arguments: str, variables: Mapping[str, str] | None = None) -> int:
    """Run topicwarden in ``project``, with its output in this process's output, and return the exit code."""
    command = [sys.executable, "-P", "-c", _PROGRAM, *arguments]
    return child_processes.run(command, project.root, {**os.environ, **(variables or {})}, show=True).returncode
