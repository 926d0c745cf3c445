"""Print the result of an import: the new files, and what was not imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from topicwarden.cli.terminal import print_wrapped
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Level, Problem
from topicwarden.operations.import_report import ImportReport, SkippedTopics
from topicwarden.report import terminal_output
from topicwarden.report.problems import text
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.specs.write import NewFile


def show(report: ImportReport, root: Path, dry_run: bool) -> None:
    """Print ``report``: the files and the problems on standard output, the rest on standard error."""
    if report.errors:
        _show_problems(root, report.errors)
        many_errors = counted(len(report.errors), "error")
        print_wrapped(f"nothing was imported: {many_errors} in topics/ may hide what is declared")
        return
    for note in report.notes:
        print_wrapped(str(note))
    if report.rejected:
        _show_problems(root, report.rejected)
        print_wrapped(f"nothing was imported: {counted(len(report.rejected), 'error')}")
        return
    _show_files(report.files, dry_run)
    _show_skipped(report.skipped, report.refused)
    _show_problems(root, report.differences)
    _show_problems(root, report.problems)
    if report.problems:
        errors = sum(problem.level is Level.ERROR for problem in report.problems)
        warnings = counted(len(report.problems) - errors, "warning")
        print_wrapped(f"`topicwarden check`: {counted(errors, 'error')}, {warnings} in the new files")


def _show_files(files: Sequence[NewFile], dry_run: bool) -> None:
    if dry_run:
        terminal_output.write("".join(map(_diff, files)))
    elif files:
        terminal_output.write(_file_list(files))
    topics = counted(sum(file.topic is not None for file in files), "new topic")
    summary = f" in {counted(len(files), 'file')}{', not written' if dry_run else ''}" if files else " to declare"
    print_wrapped(f"{topics}{summary}")


def _show_skipped(skipped: SkippedTopics, refused: Mapping[str, str]) -> None:
    counts = [
        (skipped.declared, "already declared"),
        (skipped.internal, "internal"),
        (skipped.out_of_scope, "outside of the stack's scope"),
    ]
    if any(number for number, _ in counts):
        print_wrapped("skipped: " + ", ".join(f"{number:,} {reason}" for number, reason in counts if number))
    for name, reason in sorted(refused.items()):
        print_wrapped(f"not imported: {name}: {reason}")


def _show_problems(root: Path, problems: Sequence[Problem]) -> None:
    """Print ``problems`` with excerpts of their files."""
    page = ProblemDigest(root, tuple(problems), (), 0)
    terminal_output.write(text.render(page, terminal_output.coloured()))


def _file_list(files: Sequence[NewFile]) -> str:
    """Return one line for each folder, with its number of new topics and whether it has new defaults."""
    by_folder: dict[str, list[NewFile]] = {}
    for file in files:
        by_folder.setdefault(file.path.rpartition("/")[0], []).append(file)
    lines = []
    for folder, new_files in sorted(by_folder.items()):
        topics, schemas = (sum(map(kind, new_files)) for kind in (_is_topic, _is_schema))
        parts = [
            *([counted(topics, "topic")] if topics else []),
            *([counted(schemas, "schema")] if schemas else []),
            *(["_defaults.yaml"] if topics + schemas < len(new_files) else []),
        ]
        lines.append(f"topics/{folder}{'/' if folder else ''}: {' and '.join(parts)}\n")
    return "".join(lines)


def _is_topic(file: NewFile) -> bool:
    return file.topic is not None


def _is_schema(file: NewFile) -> bool:
    return file.is_schema


def _diff(file: NewFile) -> str:
    lines = file.text.splitlines(keepends=True)
    return "".join(unified_diff([], lines, "/dev/null", f"b/topics/{file.path}"))
