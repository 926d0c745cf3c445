"""One command on several stacks: `--all-stacks`, or several `--stack`. One report and one exit code."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rich.console import Console

from topicwarden.cli.failure import line_for
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.fleet_report import FleetReport, StackOutcome
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.fleet import fleet_stacks, run_stacks
from topicwarden.operations.progress_listener import ProgressListener
from topicwarden.operations.stack_differences import declared_differences, outcome_differences
from topicwarden.report import terminal_output
from topicwarden.report.display import one_line
from topicwarden.report.fleet import json, markdown, text
from topicwarden.report.plan.markdown import LIMIT

_MOST_CHARACTERS: Final = 500
"""Characters of the reason why a command could not run on a stack."""
_FILE_WIDTH: Final = 80


def require_format(form: str, formats: Sequence[str], single: Sequence[str]) -> None:
    """Raise Refusal if ``form`` is not one of ``formats``; ``single`` are those of a report on one stack."""
    if form in formats:
        return
    expected = f"expected one of {', '.join(formats)}"
    if form in single:
        raise Refusal(f"a report on several stacks has no format {form!r}: {expected}; --out writes it for each stack")
    raise Refusal(f"there is no format {form!r}: {expected}")


def fleet_report(
    command: str,
    project: Project,
    stacks: Sequence[str],
    patterns: Sequence[str],
    operate: Callable[[str, ProgressListener], StackOutcome],
) -> FleetReport:
    """Return the report of ``operate`` on ``stacks``, or on all stacks of the project if there are none."""
    chosen = fleet_stacks(project, stacks)
    outcomes = run_stacks(chosen, operate, describe=_reason, listener=TERMINAL)
    differences = [*outcome_differences(outcomes), *declared_differences(project, chosen, patterns)]
    return FleetReport(command, outcomes, differences)


def print_fleet(
    report: FleetReport, form: str, render_one: Callable[[StackOutcome, str], str], limit: int | None = LIMIT
) -> None:
    """Print the report in the format ``form``. ``render_one`` returns the report of one stack in a format.

    ``limit`` is the number of bytes of Markdown; None for no limit.
    """
    if form == "json":
        terminal_output.write(json.render(report))
        return
    parts = {each.stack: render_one(each, form) for each in report.stacks if each.report is not None}
    if form == "markdown":
        terminal_output.write(markdown.render(report, parts, limit))
    else:
        terminal_output.write_text(console_text(lambda console: text.render(report, parts, console)))


def fleet_files(
    report: FleetReport, render_one: Callable[[StackOutcome, str], str], limit: int | None = LIMIT
) -> Mapping[str, str]:
    """Return the files of the option ``--out`` that are about all stacks, by name; see ``print_fleet``."""
    ran = [each for each in report.stacks if each.report is not None]
    plain = Console(file=io.StringIO(), width=_FILE_WIDTH, force_terminal=False)
    with plain.capture() as captured:
        text.render(report, {}, plain)
    parts = {each.stack: render_one(each, "markdown") for each in ran}
    return {
        "fleet.json": json.render(report),
        "fleet.md": markdown.render(report, parts, limit),
        "fleet.txt": captured.get(),
    }


def console_text(render: Callable[[Console], None]) -> str:
    """Return what ``render`` prints, with the width and the colours of standard output."""
    console = terminal_output.console()
    with console.capture() as captured:
        render(console)
    return captured.get()


def _reason(error: Exception) -> str:
    line = one_line(line_for(error))
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"
