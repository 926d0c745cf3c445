"""`topicwarden audit`, which is also the PySpark job."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.cli.garbage_collection import without_garbage_collection
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.model.units import SIZE
from topicwarden.model.verdict import FailOn
from topicwarden.operations.audit import AuditOptions, audit_topics
from topicwarden.report import terminal_output
from topicwarden.report.audit import text
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import FORMATS


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
    if form != "text" and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of text, {', '.join(FORMATS)}")
    if form != "text":
        terminal_output.keep_notes_out_of_output()
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


def _print(report: AuditReport, form: str, background: ReportBackground) -> None:
    if form != "text":
        terminal_output.write(FORMATS[form](report, background))
        return
    console = Console()
    with console.capture() as captured:
        text.render(report, console)
    terminal_output.write_text(captured.get())


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
