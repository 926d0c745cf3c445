"""Audit the topics of a stack: read their records with Spark, and compare them with the declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from topicwarden.audit.checks import check_docs
from topicwarden.audit.history.audit_history import NONE
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit
from topicwarden.audit.scan import reader_jars
from topicwarden.audit.scan.executors import require_executor
from topicwarden.audit.scan.hadoop_files import ReportFolder
from topicwarden.audit.scan.read_limits import ReadLimits
from topicwarden.audit.scan.spark_session import spark_session
from topicwarden.kafka.connect.schema_registry import registry_of
from topicwarden.kafka.connect.stack_connection import connect_to, stack_settings
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.topic_selection import none_selected
from topicwarden.model.verdict import FailOn, ReadScope
from topicwarden.operations.declared_topics import declared
from topicwarden.operations.progress_listener import SILENT, ProgressListener
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import contents
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

    def __post_init__(self) -> None:
        if self.since is ReadScope.LAST and (self.bounds.max_records or self.bounds.sample):
            raise Refusal("--since last reads all new records; remove --max-records and --sample")


def audit_topics(
    project: Project,
    stack: str,
    patterns: tuple[str, ...] = (),
    options: AuditOptions | None = None,
    *,
    master: str | None = None,
    out: str | None = None,
    fail_on: FailOn = FailOn.FAIL,
    on_report: Callable[[AuditReport], object] | None = None,
    listener: ProgressListener = SILENT,
) -> AuditReport:
    """Audit the topics of ``stack`` that match the globs ``patterns``, and return the report. Only reads from Kafka.

    ``master`` is the Spark master; None means the active Spark session, the master of spark-submit, or all cores of
    this machine. ``out`` is a folder for report files: a path, or a URI such as ``s3a://bucket/reports``. In JUnit
    XML, a test case fails from the verdict ``fail_on`` on. ``on_report`` receives the report before its files are
    written.

    Raises Refusal as ``auditing`` does, and if the files cannot be written.
    """
    if out is not None and not _is_uri(out):
        require_writable(Path(out))
    background = ReportBackground(project.root, check_docs(), fail_on)
    with auditing(project, stack, master, options, first=patterns, listener=listener) as audit_once:
        save = _saver(out)
        report = audit_once(patterns)
        if on_report is not None:
            on_report(report)
        for location in save(contents(report, background)) if save else ():
            listener.note(str(location))
    return report


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
    *,
    listener: ProgressListener = SILENT,
) -> Iterator[AuditFunction]:
    """Yield a function that audits topics. It can be called several times; all calls share one Spark session.

    ``first`` has the globs of the first audit, if they are known: the cluster is then read while Spark starts. Raises
    Refusal, before it starts Spark, if the installed Spark is not supported, if the declarations have errors, if the
    cluster does not respond, or if no topic matches ``first``.
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
        with listener.stage("starting Spark"):
            spark = resources.enter_context(spark_session(project, master, note=listener.note))
            require_executor(spark, listener.note)

        def audit_once(patterns: tuple[str, ...]) -> AuditReport:
            observed = observing.pop().result() if observing else None
            with listener.stage("reading the topics", then="judging the topics") as progress:
                return audit(spark, request(patterns), progress, observed)

        yield audit_once


def _require_topics(request: AuditRequest, cluster: Cluster) -> None:
    """Raise Refusal if no topic, declared or on the cluster, is selected."""
    names = {each.topic.name for each in request.declarations} | cluster.identities().keys()
    if not any(map(request.selects, names)):
        where = f" in the scope of the stack, {request.scope}," if request.scope.patterns else ""
        topics = f"topic{where or ', declared or on the cluster,'}"
        raise none_selected(topics, request.patterns, filter(request.scope.owns, names))


def _history(project: Project, stack: str, location: str | None) -> str | None:
    """Return the URI of the history, or None for no history.

    ``location`` is that of ``AuditOptions``, relative to the working directory; None means the setting of the stack, or
    else a folder in the project's cache. As in all settings, a relative path there is relative to the project.
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
