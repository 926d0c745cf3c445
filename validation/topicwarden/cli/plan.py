"""`topicwarden plan`: show the changes of a deploy and their consequences for live data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicwarden.cli.failure import pulumi_hint, showing_problems
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.options import AllStacks, Stacks, Topics, require_format, several_stacks, single_stack
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.problem import InvalidDeclarations
from topicwarden.model.project import Project, find_project
from topicwarden.operations.operation_options import ProgressListener
from topicwarden.report import terminal_output
from topicwarden.report.display import one_line, printable
from topicwarden.report.output_folder import require_writable, write_files

if TYPE_CHECKING:
    from topicwarden.model.fleet_report import FleetReport, StackOutcome
    from topicwarden.model.planned_change import PlanReport

app = typer.Typer()

_PENDING = 3


@app.command(
    epilog="Example: topicwarden plan --stack dev --topics 'orders.*' --format markdown > comment.md\n\n"
    "All stacks in one report: `topicwarden plan --all-stacks`."
)
def plan(
    context: typer.Context,
    stack: Stacks = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="text, json, markdown or github (default: github under GitHub Actions, else text).",
            show_default=False,
        ),
    ] = None,
    topics: Topics = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="The folder for plan.json, .md and .txt.")
    ] = None,
    *,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit code 3 if changes are pending and none is refused.")
    ] = False,
    all_stacks: AllStacks = False,
) -> int:
    """Show the changes of a deploy and their consequences for live data. Runs `pulumi preview`; changes nothing."""
    form = form or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    several = several_stacks(stack, all_stacks)
    if several is not None:
        return _plan_stacks(several, form, detailed_exitcode, topics or (), out)
    with without_garbage_collection(), showing_problems():
        from topicwarden.operations.plan import plan_topics
        from topicwarden.report.document import Medium
        from topicwarden.report.plan import FILES, FORMATS, render
        from topicwarden.report.plan.document import document

        one = single_stack(stack, context)
        require_format(form, FORMATS)
        if out is not None:
            require_writable(out)
        project = find_project()
        report = plan_topics(project, one, topics or (), listener=TERMINAL)
        if out is not None:
            write_files(out, {name: render(report, each, project.root) for name, each in FILES.items()})
        if form == "text":
            terminal_output.write_text(terminal_output.document_text(document(report, Medium.TERMINAL)))
            note_pulumi(report)
        else:
            terminal_output.write(render(report, form, project.root))
        return _code(report, detailed_exitcode)


def note_pulumi(report: PlanReport) -> None:
    """Print how to get ``pulumi`` on the PATH, if a remedy in ``report`` needs it."""
    from topicwarden.model.planned_change import planned_parts

    parts = planned_parts(report.topics, report.access, report.registry)
    if hint := pulumi_hint("\n".join(each.remedy for part in parts for each in part.consequences)):
        terminal_output.note(hint)


def _plan_stacks(stacks: Sequence[str], form: str, detailed: bool, patterns: Sequence[str], out: Path | None) -> int:
    """Print one report on the plans of ``stacks``, or of all stacks if there are none, and return the exit code.

    ``out`` is a folder for this report, with one folder for the files of each stack. Returns 2 if a stack could not be
    planned; else as ``plan``.
    """
    from topicwarden.cli.fleet import fleet_files, fleet_report, print_fleet
    from topicwarden.model.fleet_report import StackOutcome
    from topicwarden.operations.plan import plan_topics
    from topicwarden.report.plan import FILES, FORMATS, render
    from topicwarden.report.plan.digest import digest

    require_format(form, FORMATS)
    if out is not None:
        require_writable(out)
    project = find_project()

    def operate(stack: str, listener: ProgressListener) -> StackOutcome:
        with without_garbage_collection():
            try:
                report = plan_topics(project, stack, patterns, listener=listener)
            except InvalidDeclarations as invalid:
                for problem in invalid.problems:
                    listener.warn(printable(str(problem)))
                return StackOutcome(stack=stack, exit_code=1, summary=one_line(str(invalid)))
            if out is not None:
                write_files(out / stack, {name: render(report, each, project.root) for name, each in FILES.items()})
        return StackOutcome(
            stack=stack, exit_code=_code(report, detailed), summary=digest(report).summary, report=report
        )

    report = fleet_report("plan", project, stacks, patterns, operate)
    if out is not None:
        write_files(out, fleet_files(report, lambda outcome, each: _one(outcome, each, project)))
    if form == "github":
        terminal_output.write(_github(report, project))
    else:
        print_fleet(report, form, lambda outcome, each: _one(outcome, each, project))
    return report.exit_code


def _one(outcome: StackOutcome, form: str, project: Project) -> str:
    from topicwarden.model.planned_change import PlanReport
    from topicwarden.report.document import Medium
    from topicwarden.report.plan import render
    from topicwarden.report.plan.document import document

    assert isinstance(outcome.report, PlanReport)
    if form == "text":
        return terminal_output.document_text(document(outcome.report, Medium.TERMINAL))
    return render(outcome.report, form, project.root)


def _github(report: FleetReport, project: Project) -> str:
    """Return the workflow commands of each stack as a group of the log, and an error for each that could not run."""
    from topicwarden.report.fleet import headline
    from topicwarden.report.problems.github import annotation

    parts: list[str] = []
    for outcome in report.stacks:
        if outcome.report is None:
            message = f"stack {outcome.stack} could not be planned: {outcome.summary}"
            parts.append(annotation("error", message, {"title": "topicwarden plan"}))
        else:
            parts += [
                f"::group::stack {one_line(outcome.stack)}\n".replace("##[", "## ["),
                _one(outcome, "github", project),
                "::endgroup::\n",
            ]
    return "".join([*parts, f"{headline(report)}\n"])


def _code(report: PlanReport, detailed: bool) -> int:
    """Return 1 if a change is refused or the preview failed; with ``detailed``, 3 if changes are pending; else 0."""
    if not report.deployable:
        return 1
    return _PENDING if detailed and report.pending else 0
