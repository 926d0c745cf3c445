"""`topicwarden audit`, which is also the PySpark job."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.cli.fleet import fleet_files, fleet_report, print_fleet, require_format
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.cluster_address import ClusterAddress
from topicwarden.model.finding import AuditReport
from topicwarden.model.fleet_report import StackOutcome
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.units import SIZE
from topicwarden.model.verdict import FailOn
from topicwarden.operations.audit import audit_cluster, audit_topics
from topicwarden.operations.operation_options import AuditOptions
from topicwarden.operations.progress_listener import ProgressListener
from topicwarden.operations.shared_spark import shared_spark
from topicwarden.report import page, terminal_output
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import digest
from topicwarden.report.audit.document import document
from topicwarden.report.audit.formats import FORMATS
from topicwarden.report.document import Medium
from topicwarden.report.fleet.document import document as fleet_document
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.specs.stacks.history_address import history_below

_FLEET_FORMATS: Final = ("text", "json", "markdown")


def audit(
    stack: str,
    patterns: tuple[str, ...],
    out: str | None,
    master: str | None,
    *,
    project_folder: Path | None = None,
    options: AuditOptions | None = None,
    fail_on: FailOn = FailOn.FAIL,
    form: str = "text",
) -> int:
    """Audit the topics that match ``patterns``, print the report in the format ``form``, and return the exit code.

    ``project_folder`` is the project, or a folder in it; None means the working directory. Returns 1 if any verdict is
    at least as bad as ``fail_on``, else 0. See ``audit_topics``.
    """
    _require_known(form)
    project = find_project(project_folder)
    background = ReportBackground(project.root, check_docs(), fail_on)
    with without_garbage_collection():
        report = audit_topics(
            project,
            stack,
            patterns,
            options,
            master=master,
            out=out,
            fail_on=fail_on,
            on_report=lambda report: _print(report, form, background),
            listener=TERMINAL,
        )
    return 1 if report.fails(fail_on) else 0


def audit_address(
    address: ClusterAddress,
    patterns: tuple[str, ...],
    out: str | None,
    master: str | None,
    *,
    options: AuditOptions | None = None,
    fail_on: FailOn = FailOn.FAIL,
    form: str = "text",
) -> int:
    """Audit a cluster that no project declares; the rest is as in ``audit``. See ``audit_cluster``."""
    _require_known(form)
    background = ReportBackground(Path.cwd(), check_docs(), fail_on)
    with without_garbage_collection():
        report = audit_cluster(
            address,
            patterns,
            options,
            master=master,
            out=out,
            fail_on=fail_on,
            on_report=lambda report: _print(report, form, background),
            listener=TERMINAL,
        )
    return 1 if report.fails(fail_on) else 0


def audit_stacks(
    stacks: Sequence[str],
    patterns: tuple[str, ...],
    out: str | None,
    master: str | None,
    *,
    project_folder: Path | None = None,
    options: AuditOptions | None = None,
    fail_on: FailOn = FailOn.FAIL,
    form: str = "text",
) -> int:
    """Print one report on the audits of ``stacks``, or of all stacks if there are none, and return the exit code.

    All audits share one Spark session. ``out`` is a folder for this report, with one folder for the files of each
    stack. Returns 2 if a stack could not be audited; else as ``audit``.
    """
    require_format(form, _FLEET_FORMATS, tuple(FORMATS))
    settings = options or AuditOptions()
    if settings.authorizer_log is not None:
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
                    replace(settings, history=history_below(settings.history, stack)),
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
        pages = {each.stack: f"{each.stack}/report.html" for each in report.stacks if each.report}
        files = {
            **fleet_files(report, render_one, None),
            "fleet.html": page.write(fleet_document(report, Medium.PAGE, pages)),
        }
        for path in write_files(folder, files):
            terminal_output.note(str(path))
    print_fleet(report, form, render_one, None)
    return report.exit_code


def _require_known(form: str) -> None:
    """Raise Refusal for an unknown format. One for programs has standard output for itself."""
    if form != "text" and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of text, {', '.join(FORMATS)}")
    if form != "text":
        terminal_output.keep_notes_out_of_output()


def _print(report: AuditReport, form: str, background: ReportBackground) -> None:
    if form != "text":
        terminal_output.write(FORMATS[form](report, background))
        return
    terminal_output.write_text(_text(report))


def _text(report: AuditReport) -> str:
    return terminal_output.document_text(document(report, Medium.TERMINAL))


def bounds(max_records: int | None, sample: float | None, rate: str | None) -> ReadLimits:
    """Return the read limits for the options ``--max-records``, ``--sample`` and ``--rate``.

    Raises Refusal if an option has an invalid value.
    """
    if sample is not None and not 0 < sample <= 1:
        raise Refusal(f"--sample {sample:g}: expected a fraction above 0 and up to 1, such as 0.1")
    if max_records is not None and max_records < 1:
        raise Refusal(f"--max-records {max_records}: expected 1 or more")
    try:
        bytes_per_second = None if rate is None else SIZE.parse(rate.removesuffix("/s"))
    except ValueError as error:
        raise Refusal(f"--rate: {error}, in bytes per second") from error
    if bytes_per_second is not None and bytes_per_second <= 0:
        raise Refusal(f"--rate {rate}: expected more than 0 bytes per second, such as 50MiB")
    return ReadLimits(sample, max_records, bytes_per_second)
