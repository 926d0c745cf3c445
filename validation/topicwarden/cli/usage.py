"""`topicwarden usage`: show who uses the topics, what nobody uses, and what topics cost."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.options import (
    AllStacks,
    BootstrapServer,
    CommandConfig,
    LogTimeZone,
    Stacks,
    Topics,
    cluster_address,
    require_report_format,
    several_stacks,
    single_stack,
)
from topicwarden.cli.terminal import TERMINAL, print_wrapped
from topicwarden.model.message_text import counted, counted_more, first_of
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.operations.operation_options import ProgressListener
from topicwarden.report import display, terminal_output
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.specs.stacks.history_address import history_below

if TYPE_CHECKING:
    from topicwarden.model.fleet_report import StackOutcome
    from topicwarden.model.usage_report import UsageReport
    from topicwarden.operations.operation_options import UsageOptions

app = typer.Typer()

_MOST_LISTED: Final = 20
_FLEET_FORMATS: Final = ("text", "json", "markdown", "html")


@app.command(
    epilog="Example: topicwarden usage --stack dev --topics 'orders.*' --out reports/\n\n"
    "All stacks in one report: `topicwarden usage --all-stacks`."
)
def usage(
    context: typer.Context,
    stack: Stacks = None,
    topics: Topics = None,
    form: Annotated[
        str,
        typer.Option("--format", "-f", metavar="FORMAT", help="text, json, markdown, html or openmetrics."),
    ] = "text",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="The folder for usage.html, .md, .json and .prom (OpenMetrics)."
        ),
    ] = None,
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="WHERE",
            help="The history of audits and observations: a path, a URI such as s3a://bucket/history, which needs "
            "Spark, or none (default: topicwarden:history of the stack, else .cache/history/STACK).",
            show_default=False,
        ),
    ] = None,
    authorizer_log: Annotated[
        str | None,
        typer.Option(
            "--authorizer-log",
            metavar="DIR",
            help="The folder of the brokers' authorizer logs, kafka-authorizer.log, with one folder for each broker: a "
            "path, or a URI such as s3a://bucket/logs. Needs Spark.",
        ),
    ] = None,
    log_time_zone: LogTimeZone = "UTC",
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master, if Spark is needed (default: local)."),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Add access: of what is used and not declared to the YAML, if the principal is known exactly. Prints "
            "the changes.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --write: only show the changes.")] = False,
    all_stacks: AllStacks = False,
) -> int:
    """Show who reads and writes each topic, what nobody uses, and what topics cost. Only reads from Kafka."""
    address = cluster_address(bootstrap_server, command_config, stack=bool(stack or all_stacks))
    several = several_stacks(stack, all_stacks)
    one = single_stack(stack, context) if several is None and address is None else ""
    from topicwarden.operations.operation_options import UsageOptions

    patterns, options = tuple(topics or ()), UsageOptions(history, authorizer_log, master, log_time_zone)
    if address is not None and (write or dry_run):
        raise Refusal("--write adds access to the YAML of a stack: remove it, or remove --bootstrap-server")
    if several is not None:
        return _usage_of_stacks(several, patterns, options, form, out, write=write or dry_run)
    from topicwarden.operations.usage import usage_of_cluster, usage_topics
    from topicwarden.report.usage.formats import FORMATS, contents

    require_report_format(form, FORMATS)
    if dry_run and not write:
        raise Refusal("--dry-run only shows the changes of --write: add --write")
    if out is not None:
        require_writable(out)
    with without_garbage_collection():
        if address is None:
            report = usage_topics(find_project(), one, patterns, options, listener=TERMINAL)
        else:
            report = usage_of_cluster(address, patterns, options, listener=TERMINAL)
    _print(report, form)
    if out is not None:
        for path in write_files(out, contents(report)):
            terminal_output.note(str(path))
    return _write_access(find_project(), report, dry_run=dry_run, to_stdout=form == "text") if write else 0


def _usage_of_stacks(
    stacks: Sequence[str], patterns: tuple[str, ...], options: UsageOptions, form: str, out: Path | None, *, write: bool
) -> int:
    """Print one report on the use of ``stacks``, or of all stacks if there are none, and return the exit code.

    ``out`` is a folder for this report, with one folder for the files of each stack. ``write`` is refused. Returns 2 if
    a stack could not be read, else 0.
    """
    from topicwarden.cli.fleet import fleet_files, fleet_report, print_fleet, require_fleet_format
    from topicwarden.model.fleet_report import StackOutcome
    from topicwarden.operations.usage import usage_topics
    from topicwarden.report import page
    from topicwarden.report.document import Medium
    from topicwarden.report.fleet import document as fleet_document
    from topicwarden.report.usage.digest import summary
    from topicwarden.report.usage.formats import FORMATS, contents

    require_fleet_format(form, _FLEET_FORMATS, FORMATS)
    if write:
        raise Refusal("--write adds the access of one cluster: pass one --stack with it")
    if options.authorizer_log is not None:
        raise Refusal("--authorizer-log has the logs of one cluster: pass one --stack with it")
    if form != "text":
        terminal_output.keep_notes_out_of_output()
    if out is not None:
        require_writable(out)
    project = find_project()

    def operate(stack: str, listener: ProgressListener) -> StackOutcome:
        own = history_below(options.history, stack)
        with without_garbage_collection():
            report = usage_topics(project, stack, patterns, replace(options, history=own), listener=listener)
        if out is not None:
            write_files(out / stack, contents(report))
        return StackOutcome(stack=stack, exit_code=0, summary=summary(report), report=report)

    report = fleet_report("usage", project, stacks, patterns, operate)
    if form == "html":
        terminal_output.write(page.write(fleet_document(report, Medium.PAGE)))
    else:
        print_fleet(report, form, _one)
    if out is not None:
        for path in write_files(out, fleet_files(report, _one, page_name="usage.html")):
            terminal_output.note(str(path))
    return report.exit_code


def _one(outcome: StackOutcome, form: str) -> str:
    from topicwarden.model.usage_report import UsageReport

    assert isinstance(outcome.report, UsageReport)
    return _render(outcome.report, form)


def _write_access(project: Project, report: UsageReport, *, dry_run: bool, to_stdout: bool) -> int:
    """Add the access that is used to the YAML, print the changes, and return 1 if a use stays without a declaration.

    The changes are printed on standard output after a report for people, and else on standard error.
    """
    from topicwarden.cli.fix import diff_of
    from topicwarden.operations.usage_access import add_used_access
    from topicwarden.report.problems import text as problem_text
    from topicwarden.report.problems.digest import ProblemDigest
    from topicwarden.usage.principals import KEYS

    added = add_used_access(project, report, dry_run=dry_run)
    for file in added.files:
        if to_stdout:
            terminal_output.write_text(f"\n{diff_of(file, terminal_output.coloured())}")
        else:
            print(terminal_output.without_commands(diff_of(file, False)), end="", file=sys.stderr)
    entries = "1 entry" if added.entries == 1 else f"{added.entries:,} entries"
    done = "not written" if dry_run else "written"
    print_wrapped(f"{entries} of access: in {counted(len(added.files), 'file')}{f', {done}' if added.files else ''}")
    for use in added.left[:_MOST_LISTED]:
        who = f" (one of {first_of(use.candidates, 5)})" if use.candidates else ""
        print_wrapped(display.one_line(f"not written: {use.topic}: {KEYS[use.action]}: {use.entry}{who}: {use.reason}"))
    if more := added.left[_MOST_LISTED:]:
        print_wrapped(f"not written: {counted_more(len(more))}; --format json has all")
    for each in report.removable[:_MOST_LISTED]:
        print_wrapped(display.one_line(f"could be removed: {each.kind} {each.name}: {each.reason}"))
    if more_removable := report.removable[_MOST_LISTED:]:
        print_wrapped(f"could be removed: {counted_more(len(more_removable))}; --format json has all")
    if added.problems:
        terminal_output.write_text(problem_text.render(ProblemDigest(project.root, added.problems, (), 0), False))
    return 1 if added.left or added.problems else 0


def _print(report: UsageReport, form: str) -> None:
    if form == "text":
        terminal_output.write_text(_render(report, form))
    else:
        terminal_output.write(_render(report, form))


def _render(report: UsageReport, form: str) -> str:
    from topicwarden.report.document import Medium
    from topicwarden.report.usage.document import document
    from topicwarden.report.usage.formats import FORMATS

    if form == "text":
        return terminal_output.document_text(document(report, Medium.TERMINAL))
    return FORMATS[form](report)
