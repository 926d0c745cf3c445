"""`topicwarden check`: specs and policies, without a cluster."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from topicwarden.cli.path_selection import PathSelection, select
from topicwarden.model.problem import Refusal
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.policies.check_specs import check as judge
from topicwarden.report import terminal_output
from topicwarden.report.problems import FORMATS, render, text
from topicwarden.report.problems.digest import ProblemDigest, many
from topicwarden.specs.stack_selection import selected_stacks


def check(
    stack: str | None, form: str | None = None, paths: Sequence[Path] = (), fix: bool = False, diff: bool = False
) -> int:
    """Prints every problem in the format ``form``, and a summary on standard error; 1 where one is an error.

    ``fix`` mends the files before they are judged. ``diff`` only prints what it would write; 1 where that is something.
    """
    form = form or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    if form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of {', '.join(FORMATS)}")
    selection = select(paths)
    stacks = selected_stacks(selection.project, stack)
    if fix or diff:
        # Imported when asked for: most checks change nothing.
        from topicwarden.cli.fix import fix as mend  # noqa: PLC0415

        changed = mend(selection, write=not diff, to_stdout=diff or form == "text")
        if diff:
            return 1 if changed else 0
    with _uncollected():
        checked = judge(selection.project, stacks, paths=selection.topics)
        page = _page(selection, checked)
    if form == "text":
        terminal_output.write_text(text.render(page, terminal_output.coloured()))
    else:
        terminal_output.write(render(page, form))
    if hidden := len(checked.problems) - len(page.problems):
        print(f"{many(hidden, 'more problem')} elsewhere; `topicwarden check` shows all", file=sys.stderr)
    summary = f"{many(page.topics, 'topic')}: {many(page.errors, 'error')}, {many(page.warnings, 'warning')}"
    print(summary + (f", {checked.waived:,} waived" if checked.waived else ""), file=sys.stderr)
    return 1 if page.errors else 0


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's cyclic collector: all that is read is kept to the end, and looking it over takes a third."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _page(selection: PathSelection, checked: CheckedStacks) -> ProblemDigest:
    """What is shown: of a selection, the problems that are its own."""
    problems = tuple(problem for problem in checked.problems if selection.shows(problem))
    held = [declaration for declared in checked.declarations.values() for declaration in declared]
    files = {declaration.places.own.file for declaration in held} | {problem.location.file for problem in problems}
    topics = {declaration.topic.name for declaration in held}
    return ProblemDigest(selection.project.root, problems, tuple(sorted(files)), len(topics))
