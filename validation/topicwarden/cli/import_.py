"""`topicwarden import`: write YAML for undeclared topics, from files or from a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from topicwarden.audit.inference.inferred_rule import LEAST_RECORDS
from topicwarden.cli.deploy import telling_interrupts
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.options import (
    BootstrapServer,
    CommandConfig,
    MaxRecords,
    MinRecords,
    OnlyStack,
    ShowValues,
    cluster_address,
)
from topicwarden.cli.terminal import TERMINAL, print_wrapped
from topicwarden.model.message_text import counted, counted_more, did_you_mean
from topicwarden.model.problem import Level, Problem, Refusal
from topicwarden.model.project import find_project
from topicwarden.report import terminal_output
from topicwarden.report.display import printable
from topicwarden.report.terminal_output import VERBOSITY

if TYPE_CHECKING:
    from topicwarden.extensions.interchange.import_files import ImportReport, SkippedTopics
    from topicwarden.extensions.interchange.import_operation import PendingAdoption
    from topicwarden.specs.write import NewFile

app = typer.Typer()

_MOST_LINES: Final = 30
_MOST_KINDS: Final = 5
"""How many lines of one list, and how many kinds of the others, are printed."""


@app.command(
    "import",
    epilog="Example: topicwarden import --stack dev 'orders.*' '!*-changelog'\n\n"
    "With contracts from the records: `topicwarden import --stack dev --contents --dry-run`.",
)
def import_(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATTERN",
            help="Only topics that match one of these globs, and no !glob (default: all).",
            show_default=False,
        ),
    ] = None,
    stack: OnlyStack = None,
    sources: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Read topics from this file of another tool instead of the cluster. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--from-format",
            metavar="FORMAT",
            help="asyncapi, odcs, strimzi, jikkou, redpanda, topicctl, kdef, kafka-gitops, julie, specmesh, terraform "
            "(a state), describe (output of kafka-topics) or create-topics (KAFKA_CREATE_TOPICS). "
            "Default: detected from the file.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--from-cluster",
            metavar="CLUSTER",
            help="With --from: only read the entries of this cluster, if the files have entries of several.",
            show_default=False,
        ),
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the files that would be written.")] = False,
    files_only: Annotated[
        bool, typer.Option("--files-only", help="Only write YAML; adopt no topic. Needs no Pulumi.")
    ] = False,
    include_unmanaged: Annotated[
        bool,
        typer.Option(
            "--include-unmanaged",
            help="With --from: also read what the other tool does not apply: unmanaged, ignored, paused or not ready.",
        ),
    ] = False,
    access: Annotated[
        bool,
        typer.Option(
            "--access",
            help="Also write the cluster's access, of every kind that a file below access/ declares.",
        ),
    ] = False,
    schemas: Annotated[
        bool,
        typer.Option(
            "--schemas",
            help="Also write the subjects of the stack's Schema Registry: schemas, compatibility, references.",
        ),
    ] = False,
    contents: Annotated[
        bool,
        typer.Option(
            "--contents",
            help="Also write contents: what all retained records of new topics meet, with the evidence. Needs Java.",
        ),
    ] = False,
    max_records: MaxRecords = None,
    min_records: MinRecords = LEAST_RECORDS,
    show_values: ShowValues = False,
    waive_until: Annotated[
        str | None,
        typer.Option(
            "--waive-until",
            metavar="DATE",
            help="Also write waivers for what the topics violate, valid through this day: 2027-01-31.",
            show_default=False,
        ),
    ] = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> int:
    """Write YAML for live topics and adopt them into the stack. Changes nothing on the cluster."""
    address = cluster_address(bootstrap_server, command_config, stack=False)
    if not contents and (max_records is not None or show_values or min_records != LEAST_RECORDS):
        raise Refusal("--max-records, --min-records and --show-values are options of --contents: add --contents")
    from topicwarden.extensions.interchange.convert import FORMATS
    from topicwarden.extensions.interchange.import_files import import_files
    from topicwarden.operations.operation_options import InferOptions

    if address is not None and (sources or not files_only):
        raise Refusal(
            "--bootstrap-server reads a cluster that is not the stack's, so no topic is adopted: add --files-only"
            " (without --from)"
        )
    if form is not None and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}{did_you_mean(form, FORMATS) or ': expected ' + ', '.join(FORMATS)}")
    if contents and sources:
        raise Refusal("--contents reads the records of a cluster: remove it, or remove --from")
    project, until = find_project(), None if waive_until is None else _day(waive_until)
    if not sources:
        with without_garbage_collection():
            # An import from files needs neither Pulumi nor a cluster.
            from topicwarden.extensions.interchange.import_operation import importing_topics

            with importing_topics(
                project,
                stack,
                patterns or (),
                dry_run=dry_run,
                adopting=not files_only,
                access=access,
                schemas=schemas,
                address=address,
                waive_until=until,
                contents=InferOptions(max_records, min_records, show_values) if contents else None,
                listener=TERMINAL,
            ) as (imported, adoption):
                show(imported, project.root, dry_run)
                adopted = adoption is None or _adopt(adoption)
                if imported.access and not dry_run:
                    _show_next_deploy(imported)
        return 0 if imported.complete and adopted else 1
    report = import_files(
        project,
        stack,
        sources,
        patterns or (),
        form,
        dry_run=dry_run,
        include_unmanaged=include_unmanaged,
        cluster=cluster,
        waive_until=until,
    )
    show(report, project.root, dry_run)
    if report.blocked:
        return 1
    if report.left_out:
        entries = "1 entry was" if report.left_out == 1 else f"{report.left_out:,} entries were"
        print_wrapped(f"{entries} left out, for the reasons above; the exit code is 1")
    if not report.topics and not report.files:
        print_wrapped("nothing was imported: the files have no topic that a declaration could be written for")
    elif not dry_run:
        command = f"topicwarden import --stack {report.stack}"
        print_wrapped(f"next: `{command}` adopts the topics that are on the cluster as declared")
    return 0 if report.complete else 1


def _day(text: str) -> date:
    from pydantic import TypeAdapter, ValidationError

    from topicwarden.model.field_types import Day

    try:
        return TypeAdapter[date](Day).validate_python(text)
    except ValidationError as error:
        raise Refusal(f"--waive-until: {error.errors(include_url=False)[0]['msg']}") from error


def _adopt(adoption: PendingAdoption) -> bool:
    """Adopt the topics, and print the result. Return False if the scope of the stack forbids it."""
    from topicwarden.kafka.connect.stack_connection import settings_file
    from topicwarden.specs.stacks.stack_settings import SCOPE

    stack = adoption.engine.stack
    if adoption.out_of_scope:
        print_wrapped(
            f"nothing was adopted, because these topics are outside of the scope of stack {stack}: "
            f"{', '.join(adoption.out_of_scope)}; add to {SCOPE} in {settings_file(stack)} what the stack takes over, "
            "then run the command again"
        )
        return False
    if not adoption.topics:
        print_wrapped(f"nothing to adopt into stack {stack}")
        return True
    so_far = "the files are written, no topic was changed, and the topics are adopted in part or not at all"
    with telling_interrupts("import", stack, so_far=so_far):
        adopted = adoption.run()
    many_topics = counted(len(adopted.topics), "topic")
    print_wrapped(f"{many_topics} adopted into stack {stack}; compared before and after, no setting changed")
    if adopted.pending:
        print_wrapped(
            f"{counted(adopted.pending, 'other change')} pending, not touched: see `topicwarden plan --stack {stack}`"
        )
    return True


def _show_next_deploy(report: ImportReport) -> None:
    """Say what the access in the new files still needs: unlike topics, an import does not adopt it."""
    secrets = ""
    if report.users:
        users, each = counted(report.users, "user"), "its" if report.users == 1 else "their"
        secrets = f"; first, {users} in access/ need{'s' if report.users == 1 else ''} {each} password as a secret"
    print_wrapped(f"next: `topicwarden up --stack {report.stack}` adopts the access, which stays as it is{secrets}")


def show(report: ImportReport, root: Path, dry_run: bool) -> None:
    """Print ``report``: the files and the problems on standard output, the rest on standard error."""
    if report.errors:
        _show_problems(root, report.errors)
        many_errors = counted(len(report.errors), "error")
        print_wrapped(f"nothing was imported: {many_errors} in topics/ may hide what is declared")
        return
    _show_lines(_with_kinds(report.notes))
    if report.rejected:
        # Without excerpts: a password may be on any line of another tool's file.
        most = len(report.rejected) if terminal_output.is_whole() else _MOST_LINES
        terminal_output.write_text("".join(f"{printable(str(problem))}\n" for problem in report.rejected[:most]))
        _show_rest(_with_kinds(report.rejected[most:]))
        print_wrapped(f"nothing was imported: {counted(len(report.rejected), 'error')}")
        return
    _show_files(report.files, report.subjects, dry_run)
    _show_skipped(report.skipped, report.refused)
    _show_problems(root, report.differences)
    _show_problems(root, report.problems)
    if report.problems:
        errors = sum(problem.level is Level.ERROR for problem in report.problems)
        warnings = counted(len(report.problems) - errors, "warning")
        hint = "; --waive-until DATE writes waivers, so that `topicwarden plan` is not refused" if errors else ""
        print_wrapped(f"`topicwarden check`: {counted(errors, 'error')}, {warnings} in the new files{hint}")


def _show_files(files: Sequence[NewFile], subjects: int, dry_run: bool) -> None:
    if dry_run:
        terminal_output.write_text("".join(map(_diff, files)))
    elif files:
        terminal_output.write_text(_file_list(files))
    new = counted(sum(file.topic is not None for file in files), "new topic")
    new += f" and {counted(subjects, 'new subject')}" if subjects else ""
    summary = f" in {counted(len(files), 'file')}{', not written' if dry_run else ''}" if files else " to declare"
    print_wrapped(f"{new}{summary}")


def _show_skipped(skipped: SkippedTopics, refused: Mapping[str, str]) -> None:
    counts = [
        (skipped.declared, "already declared"),
        (skipped.internal, "internal"),
        (skipped.out_of_scope, "outside of the stack's scope"),
    ]
    if any(number for number, _ in counts):
        print_wrapped("skipped: " + ", ".join(f"{number:,} {reason}" for number, reason in counts if number))
    _show_lines([(f"not imported: {name}: {reason}", reason) for name, reason in sorted(refused.items())])


def _show_lines(lines: Sequence[tuple[str, str]]) -> None:
    """Print the first of ``lines``, each with its kind, and the number of the others by kind; all with --verbose."""
    most = len(lines) if VERBOSITY.verbose else _MOST_LINES
    for line, _ in lines[:most]:
        print_wrapped(line)
    _show_rest(lines[most:])


def _with_kinds(problems: Sequence[Problem]) -> list[tuple[str, str]]:
    return [(str(each), f"{each.rule} in {_folder(each)}") for each in problems]


def _show_rest(lines: Sequence[tuple[str, str]]) -> None:
    if rest := Counter(kind for _, kind in lines):
        kinds = [f"{number:,} {kind}" for kind, number in rest.most_common(_MOST_KINDS)]
        kinds += ["others"] if len(rest) > _MOST_KINDS else []
        print_wrapped(f"{counted_more(rest.total())}: {', '.join(kinds)}; `topicwarden --verbose import` prints all")


def _folder(problem: Problem) -> str:
    return problem.location.file.rpartition("/")[0] or problem.location.file


def _show_problems(root: Path, problems: Sequence[Problem]) -> None:
    """Print ``problems`` with excerpts of their files."""
    from topicwarden.report.problems import text
    from topicwarden.report.problems.digest import ProblemDigest

    page = ProblemDigest(root, tuple(problems), (), 0)
    terminal_output.write_text(text.render(page, terminal_output.coloured(), whole=terminal_output.is_whole()))


def _file_list(files: Sequence[NewFile]) -> str:
    """Return one line for each folder, with its number of new topics and whether it has new defaults."""
    by_folder: dict[str, list[NewFile]] = {}
    for file in files:
        by_folder.setdefault(file.project_path.rpartition("/")[0], []).append(file)
    lines = []
    for folder, new_files in sorted(by_folder.items()):
        topics, schemas = (sum(map(kind, new_files)) for kind in (_is_topic, _is_schema))
        parts = [
            *([counted(topics, "topic")] if topics else []),
            *([counted(schemas, "schema")] if schemas else []),
            *([_others(new_files)] if topics + schemas < len(new_files) else []),
        ]
        lines.append(f"{folder}/: {' and '.join(parts)}\n")
    return "".join(lines)


def _others(files: Sequence[NewFile]) -> str:
    names = {file.path.rpartition("/")[2] for file in files if not _is_topic(file) and not _is_schema(file)}
    return ", ".join(sorted(names))


def _is_topic(file: NewFile) -> bool:
    return file.topic is not None


def _is_schema(file: NewFile) -> bool:
    return file.is_schema


def _diff(file: NewFile) -> str:
    lines = file.text.splitlines(keepends=True)
    return "".join(unified_diff([], lines, "/dev/null", f"b/{file.project_path}"))
