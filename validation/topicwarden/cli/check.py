"""`topicwarden check`: check specs and policies without a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.path_selection import PathSelection, select
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.policies.check_specs import check as judge
from topicwarden.report import terminal_output
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.report.problems import FILES, FORMATS, render, text
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.stacks.stack_selection import selected_stacks


def check(
    stack: str | None,
    form: str | None = None,
    paths: Sequence[Path] = (),
    *,
    fix: bool = False,
    diff: bool = False,
    out: Path | None = None,
) -> int:
    """Print all problems in the format ``form`` and a summary on standard error, and return the exit code.

    Returns 1 if there is an error. ``fix`` corrects the files before the check. ``diff`` only prints the corrections,
    and returns 1 if there are any. ``out`` is a folder for report files.
    """
    form = form or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    if form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of {', '.join(FORMATS)}")
    if out is not None:
        require_writable(out)
    selection = select(paths)
    stacks = selected_stacks(selection.project, stack)
    if fix or diff:
        # Imported only when needed, because most checks do not change files.
        from topicwarden.cli.fix import fix as fix_files  # noqa: PLC0415

        changed = fix_files(selection, write=not diff, to_stdout=diff or form == "text")
        if diff:
            return 1 if changed else 0
    with without_garbage_collection():
        checked = judge(selection.project, stacks, paths=selection.topics)
        digest = _digest(selection, checked)
    if out is not None:
        write_files(out, {name: render(digest, each) for name, each in FILES.items()})
    if form == "text":
        terminal_output.write_text(text.render(digest, terminal_output.coloured()))
    else:
        terminal_output.write(render(digest, form))
    if hidden := len(checked.problems) - len(digest.problems):
        terminal_output.note(f"{counted(hidden, 'more problem')} elsewhere; `topicwarden check` shows all")
    summary = (
        f"{counted(digest.topics, 'topic')}: {counted(digest.errors, 'error')}, {counted(digest.warnings, 'warning')}"
    )
    terminal_output.note(summary + (f", {checked.waived:,} waived" if checked.waived else ""))
    return 1 if digest.errors else 0


def _digest(selection: PathSelection, checked: CheckedStacks) -> ProblemDigest:
    """Return the problems to show: all of them, or those that concern the selected paths."""
    problems = tuple(problem for problem in checked.problems if selection.shows(problem))
    declarations = [declaration for declared in checked.declarations.values() for declaration in declared]
    declared_files = {declaration.places.own.file for declaration in declarations}
    files = declared_files | {problem.location.file for problem in problems}
    topics = {declaration.topic.name for declaration in declarations}
    return ProblemDigest(selection.project.root, problems, tuple(sorted(files)), len(topics))
