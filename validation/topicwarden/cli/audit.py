"""`topicwarden audit`, and the whole of the PySpark job."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from topicwarden.audit.history.audit_history import NONE
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit as audit_cluster
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.cli.declared_topics import declared
from topicwarden.cli.rules import check_docs
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.connection import connect_to, stack_settings
from topicwarden.kafka.schema_registry import registry_of
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.verdict import FailOn, ReadScope
from topicwarden.report import terminal_output
from topicwarden.report.audit import text
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import FORMATS
from topicwarden.report.audit.report_files import require_writable, write
from topicwarden.specs.broker_settings import HISTORY, read_brokers
from topicwarden.specs.units import SIZE

Look: TypeAlias = Callable[[tuple[str, ...]], AuditReport]
"""Takes globs of topic names, none for all, and audits those topics."""


@dataclass(frozen=True)
class AuditOptions:
    """How an audit reads and remembers. ``history``: a path or address, ``none``, or None for what the stack says."""

    history: str | None = None
    since: ReadScope = ReadScope.ALL
    bounds: ReadLimits = field(default_factory=ReadLimits)


def audit(
    stack: str,
    patterns: tuple[str, ...],
    out: Path | None,
    master: str | None,
    *,
    options: AuditOptions | None = None,
    fail_on: FailOn = FailOn.FAIL,
    form: str = "text",
) -> int:
    """Prints the report as ``form``, and writes it to ``out``; 1 where anything is as bad as ``fail_on``."""
    if form != "text" and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of text, {', '.join(FORMATS)}")
    if out is not None:
        require_writable(out)
    project = find_project()
    background = ReportBackground(project.root, check_docs(), fail_on)
    with auditing(project, stack, master, options) as look:
        report = look(patterns)
    if patterns and not report.topics:
        raise Refusal(f"no topic, declared or on the cluster, is like {' or '.join(patterns)}: look at --topics")
    if form == "text":
        console = Console()
        with console.capture() as drawn:
            text.render(report, console)
        terminal_output.write_text(drawn.get())
    else:
        terminal_output.write(FORMATS[form](report, background))
    if out is not None:
        for path in write(report, out, background):
            print(path, file=sys.stderr)
    return 1 if any(report.counts()[verdict] for verdict in fail_on.verdicts) else 0


@contextmanager
def auditing(
    project: Project, stack: str, master: str | None = None, options: AuditOptions | None = None
) -> Iterator[Look]:
    """Gives a function that audits the topics like some globs, as often as one likes, in one Spark session.

    Progress goes to standard error, where that is a terminal. Refuses declarations that do not hold, and a
    cluster that does not answer, before Spark is started.
    """
    wanted = options or AuditOptions()
    connection = connect_to(project, stack)
    history = _history(project, stack, wanted.history)
    registry = registry_of(project, stack)
    functions = read_brokers(project, stack)[0].partition_functions
    declarations = declared(project, stack, "audited")
    with open_cluster(connection):
        pass
    label = TextColumn("{task.description}")
    columns = (SpinnerColumn(), label, BarColumn(), TaskProgressColumn(), TimeElapsedColumn())

    def shown() -> Progress:
        console = Console(stderr=True)
        return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)

    with ExitStack() as opened:
        with shown() as progress:
            progress.add_task("starting Spark", total=None)
            spark = opened.enter_context(spark_session(project, master))

        def look(patterns: tuple[str, ...]) -> AuditReport:
            with shown() as progress:
                task = progress.add_task("reading the topics", total=1.0)
                request = AuditRequest(
                    stack,
                    connection,
                    declarations,
                    patterns,
                    history=history,
                    since=wanted.since,
                    bounds=wanted.bounds,
                    root=project.root,
                    registry=registry,
                    partition_functions=functions,
                )
                return audit_cluster(spark, request, lambda share: progress.update(task, completed=share))

        yield look


def bounds(max_records: int | None, sample: float | None, rate: str | None) -> ReadLimits:
    """The bounds that options describe; refuses what is no share, no number of records, or no size."""
    if sample is not None and not 0 < sample <= 1:
        raise Refusal(f"--sample {sample:g}: expected a share above 0 and up to 1, such as 0.1")
    if max_records is not None and max_records < 1:
        raise Refusal(f"--max-records {max_records}: expected 1 or more")
    try:
        speed = None if rate is None else SIZE.parse(rate.removesuffix("/s"))
    except ValueError as error:
        raise Refusal(f"--rate: {error}, for each second") from error
    if speed is not None and speed <= 0:
        raise Refusal(f"--rate {rate}: expected more than nothing a second, such as 50MiB")
    return ReadLimits(sample, max_records, speed)


def _history(project: Project, stack: str, asked: str | None) -> str | None:
    """Where audits remember: what was asked for, else what the stack's settings say, else the project's cache.

    A path is the project's, as it is in every other setting; given on the command line, the working directory's.
    """
    if asked is None:
        said = stack_settings(project, stack).get(HISTORY)
        asked = None if said is None else str(said)
        base = project.root
    else:
        base = Path.cwd()
    if asked is None:
        return (project.cache / "history" / stack).absolute().as_uri()
    if asked == NONE:
        return None
    return asked if "://" in asked else (base / asked).absolute().as_uri()
