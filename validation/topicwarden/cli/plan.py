"""`topicwarden plan`: show the changes of a deploy and their consequences for live data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.operations.plan import plan_topics
from topicwarden.report import terminal_output
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.report.plan import FILES, FORMATS, render, text

_PENDING = 3


def plan(stack: str, form: str | None, detailed: bool, patterns: Sequence[str] = (), out: Path | None = None) -> int:
    """Print the plan for the topics that match ``patterns`` in the format ``form``, and return the exit code.

    ``out`` is a folder for the plan in several formats. Returns 1 if a change is refused or the preview failed; 3 with
    ``detailed`` if changes are pending; else 0.
    """
    form = form or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    if form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of {', '.join(FORMATS)}")
    if out is not None:
        require_writable(out)
    project = find_project()
    with without_garbage_collection():
        report = plan_topics(project, stack, patterns, listener=TERMINAL)
    if out is not None:
        write_files(out, {name: render(report, each, project.root) for name, each in FILES.items()})
    if form == "text":
        terminal_output.write_text(text.render(report, Console()))
    else:
        terminal_output.write(render(report, form, project.root))
    if not report.deployable:
        return 1
    return _PENDING if detailed and report.pending else 0
