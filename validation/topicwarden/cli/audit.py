"""`topicwarden audit`, which is also the PySpark job."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.options import (
    AllStacks,
    BootstrapServer,
    CommandConfig,
    LogTimeZone,
    Rate,
    Stacks,
    Topics,
    cluster_address,
    project_option,
    read_limits,
    require_report_format,
    several_stacks,
    single_stack,
)
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.verdict import FailOn, ReadScope
from topicwarden.operations.operation_options import ProgressListener
from topicwarden.report import terminal_output
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.specs.stacks.history_address import history_below

if TYPE_CHECKING:
    from topicwarden.model.finding import AuditReport
    from topicwarden.model.fleet_report import StackOutcome
    from topicwarden.operations.operation_options import AuditOptions
    from topicwarden.report.audit.background import ReportBackground

app = typer.Typer()

_FLEET_FORMATS: Final = ("text", "json", "markdown")


@app.command(
    epilog="Example: topicwarden audit --stack dev --topics 'orders.*' --out reports/\n\n"
    "All stacks in one report: `topicwarden audit --all-stacks`."
)
def audit(
    context: typer.Context,
    stack: Stacks = None,
    topics: Topics = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="The folder for report.html, .md, .json, .sarif, .xml (JUnit) and .prom (OpenMetrics): a path, or a "
            "URI that Spark can write, such as s3a://bucket/reports.",
        ),
    ] = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="The Spark master (default: local, or the one of spark-submit)."),
    ] = None,
    *,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    project: Annotated[
        Path | None,
        project_option(
            "The folder of the project (default: this folder, or one above it). For Spark jobs, whose driver runs "
            "in a folder of its own."
        ),
    ] = None,
    since: Annotated[
        ReadScope,
        typer.Option(
            "--since",
            metavar="all|last",
            help="all: read all records. last: read records written since the last audit.",
        ),
    ] = ReadScope.ALL,
    history: Annotated[
        str | None,
        typer.Option(
            "--history",
            metavar="WHERE",
            help="The history of audits: a path, a URI such as s3a://bucket/history, or none "
            "(default: topicwarden:history of the stack, else .cache/history/STACK).",
            show_default=False,
        ),
    ] = None,
    max_records: Annotated[
        int | None,
        typer.Option(
            "--max-records", metavar="N", help="Read at most this number of offsets, the newest of each partition."
        ),
    ] = None,
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample", metavar="SHARE", help="Read only this fraction of each partition, the newest records: 0.1."
        ),
    ] = None,
    rate: Rate = None,
    authorizer_log: Annotated[
        str | None,
        typer.Option(
            "--authorizer-log",
            metavar="DIR",
            help="The folder of the brokers' authorizer logs, kafka-authorizer.log, with one folder for each broker: a "
            "path, or a URI such as s3a://bucket/logs.",
        ),
    ] = None,
    log_time_zone: LogTimeZone = "UTC",
    fail_on: Annotated[
        FailOn,
        typer.Option(
            "--fail-on",
            metavar="VERDICT",
            help="The mildest verdict that leads to exit code 1: fail, suspect or undecidable; or never.",
        ),
    ] = FailOn.FAIL,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="The format on standard output: text, json, markdown, sarif, junit or openmetrics.",
        ),
    ] = "text",
    all_stacks: AllStacks = False,
) -> int:
    """Read the records of live topics and compare them with the declarations. Only reads. Needs Java and a cluster.

    With --bootstrap-server, audit a cluster that nobody has declared: retention, compaction, keys, transactions,
    replication, lag and use are judged, and the report ends with the command that declares its topics.
    """
    address = cluster_address(bootstrap_server, command_config, stack=bool(stack or all_stacks))
    several = several_stacks(stack, all_stacks)
    one = single_stack(stack, context) if several is None and address is None else ""
    from topicwarden.audit.scan.spark_platform import refuse_unsupported

    refuse_unsupported(master)  # before the imports that need Spark
    from topicwarden.audit.check_docs import check_docs
    from topicwarden.operations.audit import audit_cluster, audit_topics
    from topicwarden.operations.operation_options import AuditOptions
    from topicwarden.report.audit.background import ReportBackground
    from topicwarden.report.audit.formats import FORMATS

    limits = read_limits(max_records, sample, rate)
    options = AuditOptions(history, since, limits, authorizer_log=authorizer_log, log_time_zone=log_time_zone)
    patterns = tuple(topics or ())
    if address is not None and project is not None:
        raise Refusal("--project has the declarations of a stack: remove it, or remove --bootstrap-server")
    if several is not None:
        return _audit_stacks(
            several, patterns, out, master, project_folder=project, options=options, fail_on=fail_on, form=form
        )
    require_report_format(form, FORMATS)
    if address is None:
        declared = find_project(project)
        root, audit_once = declared.root, partial(audit_topics, declared, one)
    else:
        root, audit_once = Path.cwd(), partial(audit_cluster, address)
    background = ReportBackground(root, check_docs(), fail_on)
    with without_garbage_collection():
        report = audit_once(
            patterns,
            options,
            master=master,
            out=out,
            fail_on=fail_on,
            on_report=lambda report: _print(report, form, background),
            listener=TERMINAL,
        )
    return 1 if report.fails(fail_on) else 0


def _audit_stacks(
    stacks: Sequence[str],
    patterns: tuple[str, ...],
    out: str | None,
    master: str | None,
    *,
    project_folder: Path | None,
    options: AuditOptions,
    fail_on: FailOn,
    form: str,
) -> int:
    """Print one report on the audits of ``stacks``, or of all stacks if there are none, and return the exit code.

    All audits share one Spark session. ``out`` is a folder for this report, with one folder for the files of each
    stack. Returns 2 if a stack could not be audited; else as ``audit``.
    """
    from topicwarden.audit.check_docs import check_docs
    from topicwarden.audit.scan.lasting_session import shared_spark
    from topicwarden.cli.fleet import fleet_files, fleet_report, print_fleet, require_fleet_format
    from topicwarden.model.finding import AuditReport
    from topicwarden.model.fleet_report import StackOutcome
    from topicwarden.operations.audit import audit_topics
    from topicwarden.report.audit.background import ReportBackground
    from topicwarden.report.audit.digest import digest
    from topicwarden.report.audit.formats import FORMATS

    require_fleet_format(form, _FLEET_FORMATS, FORMATS)
    if options.authorizer_log is not None:
        raise Refusal("--authorizer-log has the logs of one cluster: pass one --stack with it")
    if out is not None and "://" in out:
        raise Refusal("--out of several stacks is a folder of this machine: pass a path, or one --stack with a URI")
    folder = None if out is None else Path(out)
    if folder is not None:
        require_writable(folder)
    if form != "text":
        terminal_output.keep_notes_out_of_output()
    project = find_project(project_folder)
    with shared_spark() as spark:

        def operate(stack: str, listener: ProgressListener) -> StackOutcome:
            def audit_once(keep_spark: ExitStack) -> AuditReport:
                return audit_topics(
                    project,
                    stack,
                    patterns,
                    replace(options, history=history_below(options.history, stack)),
                    master=master,
                    out=None if folder is None else str(folder / stack),
                    fail_on=fail_on,
                    listener=listener,
                    keep_spark=keep_spark,
                )

            with without_garbage_collection():
                report = spark.audit(audit_once)
            code = 1 if report.fails(fail_on) else 0
            return StackOutcome(stack=stack, exit_code=code, summary=digest(report).summary, report=report)

        report = fleet_report("audit", project, stacks, patterns, operate)
    background = ReportBackground(project.root, check_docs(), fail_on)

    def render_one(outcome: StackOutcome, form: str) -> str:
        assert isinstance(outcome.report, AuditReport)
        return _text(outcome.report) if form == "text" else FORMATS[form](outcome.report, background)

    if folder is not None:
        for path in write_files(folder, fleet_files(report, render_one, None, "report.html")):
            terminal_output.note(str(path))
    print_fleet(report, form, render_one, None)
    return report.exit_code


def _print(report: AuditReport, form: str, background: ReportBackground) -> None:
    from topicwarden.report.audit.formats import FORMATS

    if form != "text":
        terminal_output.write(FORMATS[form](report, background))
        return
    terminal_output.write_text(_text(report))


def _text(report: AuditReport) -> str:
    from topicwarden.report.audit.document import document
    from topicwarden.report.document import Medium

    return terminal_output.document_text(document(report, Medium.TERMINAL))
