"""Arguments of the commands of `topicwarden ci`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from topicwarden.cli.arguments.shared_options import OnlyStack
from topicwarden.model.verdict import FailOn

app = typer.Typer(help="Run topicwarden in GitHub Actions, GitLab CI and other CI systems.", no_args_is_help=True)


@app.command("run", epilog="Example: topicwarden ci run plan --stack prod --out plan/")
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
) -> None:
    """Run a command as a job: start the sandbox if the stack uses it, write report files and the job summary."""
    from topicwarden.cli import ci

    raise typer.Exit(ci.run(command, stack, out, base, fail_on=fail_on, arguments=arguments))


@app.command("comment", epilog="Example: topicwarden ci comment plan/plan.md")
def comment(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="plan.md of `topicwarden plan --out DIR`.")],
) -> None:
    """Write the plan as a comment on the pull request of this run, over the comment of an earlier run.

    The token is in TOPICWARDEN_COMMENT_TOKEN.
    """
    from topicwarden.cli import ci

    raise typer.Exit(ci.comment(file))


@app.command("stacks", epilog="Example: topicwarden ci stacks --sandbox")
def stacks(
    sandbox: Annotated[bool, typer.Option("--sandbox", help="Only stacks whose cluster is the sandbox.")] = False,
) -> None:
    """Print the stacks of the project as a JSON array, for a matrix of jobs."""
    from topicwarden.cli import ci

    raise typer.Exit(ci.stacks(sandbox))
