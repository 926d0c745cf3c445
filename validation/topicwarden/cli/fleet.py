"""One command on several stacks: `--all-stacks`, or several `--stack`. One report and one exit code."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from topicwarden.cli.failure import line_for
from topicwarden.cli.options import require_format
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.fleet_report import FleetReport, StackOutcome
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.fleet import declared_differences, fleet_stacks, outcome_differences, run_stacks
from topicwarden.operations.operation_options import ProgressListener
from topicwarden.report import fleet, markdown, page, terminal, terminal_output
from topicwarden.report.display import one_line
from topicwarden.report.document import Medium
from topicwarden.report.fleet import document
from topicwarden.report.markdown import LIMIT, code

_MOST_CHARACTERS: Final = 500
"""Characters of the reason why a command could not run on a stack."""


def require_fleet_format(form: str, formats: Sequence[str], single: Collection[str]) -> None:
    """Raise Refusal if ``form`` is not one of ``formats``; ``single`` are those of a report on one stack."""
    if form in single and form not in formats:
        raise Refusal(
            f"a report on several stacks has no format {form!r}: expected one of {', '.join(formats)}; "
            "--out writes it for each stack"
        )
    require_format(form, formats)


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
        terminal_output.write(fleet.render_json(report))
        return
    parts = {each.stack: render_one(each, form) for each in report.stacks if each.report is not None}
    if form == "markdown":
        terminal_output.write(with_parts(report, parts, limit))
        return
    for stack, part in parts.items():
        terminal_output.write_text(f"=== stack {one_line(stack)}\n{part.rstrip()}\n\n")
    terminal_output.write_text(terminal_output.document_text(document(report, Medium.TERMINAL)))


def with_parts(report: FleetReport, parts: Mapping[str, str], limit: int | None = LIMIT) -> str:
    """Return the report as Markdown with ``parts``, the reports by stack. What does not fit is left out, with a line.

    ``limit`` is the number of bytes; None for no limit.
    """
    lines = sum(100 + 4 * len(stack.encode()) for stack in parts)
    text = markdown.write(document(report, Medium.MARKDOWN), limit and limit - lines)
    for stack, part in parts.items():
        separate = f"\n---\n\n{part.rstrip()}\n"
        fits = limit is None or len((text + separate).encode()) <= limit - lines
        text += separate if fits else f"\n---\n\nThe report of stack {code(stack)} is too long for this page.\n"
    return text


def fleet_files(
    report: FleetReport, render_one: Callable[[StackOutcome, str], str], limit: int | None = LIMIT, page_name: str = ""
) -> Mapping[str, str]:
    """Return the files of the option ``--out`` that are about all stacks, by name; see ``print_fleet``.

    ``page_name`` is the page in the folder of each stack, to which ``fleet.html`` links; without it, there is no page.
    """
    ran = [each for each in report.stacks if each.report is not None]
    parts = {each.stack: render_one(each, "markdown") for each in ran}
    pages = {each.stack: f"{each.stack}/{page_name}" for each in ran}
    html = {"fleet.html": page.write(document(report, Medium.PAGE, pages))} if page_name else {}
    return {
        "fleet.json": fleet.render_json(report),
        "fleet.md": with_parts(report, parts, limit),
        "fleet.txt": terminal.text(document(report, Medium.TERMINAL)),
        **html,
    }


def _reason(error: Exception) -> str:
    line = one_line(line_for(error))
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"
