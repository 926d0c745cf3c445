"""`topicwarden audit`, which is also the PySpark job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from rich.console import Console

from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.history.audit_history import NONE
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit as audit_cluster
from topicwarden.audit.scan import reader_jars
from topicwarden.audit.scan.executors import require_executor
from topicwarden.audit.scan.hadoop_files import ReportFolder
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.cli.declared_topics import declared
from topicwarden.cli.waiting import waiting
from topicwarden.kafka.connect.schema_registry import registry_of
from topicwarden.kafka.connect.stack_connection import connect_to, stack_settings
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.topic_selection import none_selected
from topicwarden.model.units import SIZE
from topicwarden.model.verdict import FailOn, ReadScope
from topicwarden.report import terminal_output
from topicwarden.report.audit import text
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import FORMATS
from topicwarden.report.audit.report_files import contents
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.stacks.stack_file import read_stack_file
from topicwarden.stacks.stack_settings import HISTORY

AuditFunction: TypeAlias = Callable[[tuple[str, ...]], AuditReport]
"""A function that audits the topics whose names match any of the given globs; all topics without globs."""


@dataclass(frozen=True)
class AuditOptions:
    """Options of an audit: the records that it reads, and its history.

    ``history`` is a path, a URI, or ``none`` for no history. None means the setting of the stack.
    """

    history: str | None = None
    since: ReadScope = ReadScope.ALL
    bounds: ReadLimits = field(default_factory=ReadLimits)


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

    ``out`` is a folder for report files: a path, or a URI such as ``s3a://bucket/reports``. ``master`` is the Spark
    master. ``project_folder`` is the project, or a folder in it; None means the working directory. Returns 1 if any
    verdict is at least as bad as ``fail_on``, else 0.
    """
    if form != "text" and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of text, {', '.join(FORMATS)}")
    if form != "text":
        terminal_output.keep_notes_out_of_output()
    if out is not None and not _is_uri(out):
        require_writable(Path(out))
    project = find_project(project_folder)
    background = ReportBackground(project.root, check_docs(), fail_on)
    with auditing(project, stack, master, options, first=patterns) as audit_topics:
        save = _saver(out)
        report = audit_topics(patterns)
        _print(report, form, background)
        for place in save(contents(report, background)) if save else ():
            terminal_output.note(str(place))
    return 1 if any(report.counts()[verdict] for verdict in fail_on.verdicts) else 0


def _print(report: AuditReport, form: str, background: ReportBackground) -> None:
    if form != "text":
        terminal_output.write(FORMATS[form](report, background))
        return
    console = Console()
    with console.capture() as captured:
        text.render(report, console)
    terminal_output.write_text(captured.get())


def _is_uri(out: str) -> bool:
    return "://" in out


def _saver(out: str | None) -> Callable[[Mapping[str, str]], Iterable[object]] | None:
    """Return the function that writes the report files to ``out`` and returns their places; None for no files."""
    if out is None:
        return None
    return ReportFolder.of_active_session(out).write if _is_uri(out) else partial(write_files, Path(out))


@contextmanager
def auditing(
    project: Project,
    stack: str,
    master: str | None = None,
    options: AuditOptions | None = None,
    first: tuple[str, ...] | None = None,
) -> Iterator[AuditFunction]:
    """Yield a function that audits topics. It can be called several times; all calls share one Spark session.

    ``first`` has the globs of the first audit, if they are known: the cluster is then read while Spark starts. Shows
    progress on standard error. Raises Refusal, before it starts Spark, if the installed Spark is not supported, if the
    declarations have errors, if the cluster does not respond, or if no topic matches ``first``.
    """
    settings = options or AuditOptions()
    reader_jars.jars(project)
    connection = connect_to(project, stack)
    history = _history(project, stack, settings.history)
    registry = registry_of(project, stack)
    stack_file = read_stack_file(project, stack)
    declarations = declared(project, stack, "audited")

    def request(patterns: tuple[str, ...]) -> AuditRequest:
        return AuditRequest(
            stack,
            connection,
            declarations,
            patterns,
            history=history,
            since=settings.since,
            bounds=settings.bounds,
            root=project.root,
            registry=registry,
            partition_functions=stack_file.brokers.partition_functions,
            scope=stack_file.scope,
        )

    with open_cluster(connection) as cluster:
        if first:
            _require_topics(request(first), cluster)
    with ExitStack() as resources:
        executor = resources.enter_context(ThreadPoolExecutor(max_workers=1))
        observing = [] if first is None else [executor.submit(request(first).observe)]
        with waiting("starting Spark"):
            spark = resources.enter_context(spark_session(project, master))
            require_executor(spark, terminal_output.note)

        def audit_topics(patterns: tuple[str, ...]) -> AuditReport:
            observed = observing.pop().result() if observing else None
            with waiting("reading the topics", then="judging the topics") as progress:
                return audit_cluster(spark, request(patterns), progress, observed)

        yield audit_topics


def _require_topics(request: AuditRequest, cluster: Cluster) -> None:
    """Raise Refusal if no topic, declared or on the cluster, is selected."""
    names = {each.topic.name for each in request.declarations} | cluster.identities().keys()
    if not any(map(request.selects, names)):
        where = f" in the scope of the stack, {request.scope}," if request.scope.patterns else ""
        topics = f"topic{where or ', declared or on the cluster,'}"
        raise none_selected(topics, request.patterns, filter(request.scope.owns, names))


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


def _history(project: Project, stack: str, location: str | None) -> str | None:
    """Return the URI of the history, or None for no history.

    ``location`` is the option ``--history``; None means the setting of the stack, or else a folder in the project's
    cache. A relative path on the command line is relative to the working directory. A relative path in the settings is
    relative to the project, as in all settings.
    """
    base = Path.cwd()
    if location is None:
        setting = stack_settings(project, stack).get(HISTORY)
        location = None if setting is None else str(setting)
        base = project.root
    if location is None:
        return (project.cache / "history" / stack).absolute().as_uri()
    if location == NONE:
        return None
    return location if "://" in location else (base / location).absolute().as_uri()
