"""`topicwarden check`: check specs and policies without a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.options import require_format, several_stacks, stack_option
from topicwarden.model.message_text import counted, counted_more
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.operations.path_selection import project_of
from topicwarden.report import terminal_output
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.specs.stacks.stack_selection import selected_stacks

if TYPE_CHECKING:
    from topicwarden.operations.check import CheckReport

app = typer.Typer()


@app.command(
    epilog="Example: topicwarden check --stack dev --format sarif > topicwarden.sarif\n\n"
    "With what differs between the stacks: `topicwarden check --all-stacks`."
)
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="Check only these files and folders, with the defaults that they inherit. A _defaults.yaml selects "
            "its folder. Checks that need all files are skipped: duplicate topics, colliding names, totals of a stack.",
            show_default=False,
        ),
    ] = None,
    stack: Annotated[
        list[str] | None, stack_option("Only this stack (default: all). Can be repeated, as --all-stacks.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="text, github, sarif, junit or json (default: github under GitHub Actions, else text).",
            show_default=False,
        ),
    ] = None,
    *,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Correct mistakes in topics/ that have one obvious correction, then check: units, misspelt keys, the "
            "order of keys. Prints the changes.",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Only show what --fix would change; exit code 1 if it would change anything."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="The folder for check.sarif, .xml (JUnit) and .json."),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="REF",
            help="Compare schemas that a deploy registers with those of a Git commit, such as origin/main, by their "
            "compatibility. Starts a JVM if a schema differs, and downloads the checkers once (151 MiB).",
            show_default=False,
        ),
    ] = None,
    all_stacks: Annotated[
        bool, typer.Option("--all-stacks", help="All stacks, as by default, and what differs between them.")
    ] = False,
) -> int:
    """Check specs and policies without a cluster, and print each problem as file:line:col: message [rule]."""
    several = several_stacks(stack, all_stacks)
    if several is not None:
        return _check_stacks(several, form, paths or (), changes_files=fix or diff, out=out, base=base)
    from topicwarden.operations.check import check_topics

    only, form = stack[0] if stack else None, _format(form)
    if out is not None:
        require_writable(out)
    project = project_of(paths or ())
    if fix or diff:
        # Imported only when needed, because most checks do not change files.
        from topicwarden.cli.fix import fix as fix_files

        selected_stacks(project, only)  # refuse an unknown stack before a file is changed
        changed = fix_files(project, paths or (), write=not diff, to_stdout=diff or form == "text")
        if diff:
            return 1 if changed else 0
    with without_garbage_collection():
        report = check_topics(project, only, paths or (), base, terminal_output.note)
    _print(report, form, out)
    _summarize(report, base)
    return 1 if report.errors else 0


def _check_stacks(
    stacks: Sequence[str],
    form: str | None,
    paths: Sequence[Path],
    *,
    changes_files: bool,
    out: Path | None,
    base: str | None,
) -> int:
    """Print the problems of ``stacks``, or of all stacks if there are none, then what differs between the stacks.

    ``paths`` and ``changes_files`` (`--fix` and `--diff`) are refused. The formats for build servers have the problems
    only. Returns 1 if there is an error, else 0.
    """
    from topicwarden.operations.fleet import check_stacks
    from topicwarden.report.document import Medium
    from topicwarden.report.fleet import document as fleet_document
    from topicwarden.report.fleet import render_json
    from topicwarden.report.problems.json import document

    form = _format(form)
    if paths or changes_files:
        raise Refusal("a report on several stacks is about all files: remove PATH, --fix and --diff")
    if out is not None:
        require_writable(out)
    project = find_project()
    with without_garbage_collection():
        report, fleet = check_stacks(project, stacks, base, terminal_output.note)
    fleet_json = render_json(fleet, document(report))
    if form == "json":
        _write(report, out)
        terminal_output.write(fleet_json)
    else:
        _print(report, form, out)
    if form == "text":
        terminal_output.write_text(terminal_output.document_text(fleet_document(fleet, Medium.TERMINAL)))
    else:
        for outcome in fleet.stacks:
            terminal_output.note(f"{outcome.stack}: {outcome.summary}")
    if out is not None:
        write_files(out, {"fleet.json": fleet_json})
    _summarize(report, base)
    return fleet.exit_code


def _format(form: str | None) -> str:
    from topicwarden.report.problems import FORMATS

    form = form or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    require_format(form, FORMATS)
    return form


def _write(report: CheckReport, out: Path | None) -> None:
    from topicwarden.report.problems import FILES, render

    if out is not None:
        write_files(out, {name: render(report, each) for name, each in FILES.items()})


def _print(report: CheckReport, form: str, out: Path | None) -> None:
    from topicwarden.report.problems import render, text

    _write(report, out)
    if form == "text":
        shown = text.render(report, terminal_output.coloured(), whole=terminal_output.is_whole())
        terminal_output.write_text(shown)
    else:
        terminal_output.write(render(report, form))


def _summarize(report: CheckReport, base: str | None) -> None:
    """Print what the check left out, and the numbers of problems, on standard error."""
    if report.elsewhere:
        terminal_output.note(f"{counted_more(report.elsewhere, 'problem')} elsewhere; `topicwarden check` shows all")
    for note in report.notes:
        terminal_output.note(note)
    if base is not None:
        terminal_output.note(f"{counted(report.compared, 'changed schema')} compared with {base}")
    summary = (
        f"{counted(report.topics, 'topic')}: {counted(report.errors, 'error')}, {counted(report.warnings, 'warning')}"
    )
    terminal_output.note(summary + (f", {report.waived:,} waived" if report.waived else ""))
