"""Audit the topics of a stack: read their records with Spark, and compare them with the declarations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from topicwarden.audit.authorizer_log.log_folder import log_address
from topicwarden.audit.check_docs import check_docs
from topicwarden.audit.collect.observation import Observation
from topicwarden.audit.request import AuditRequest
from topicwarden.audit.run import audit, must_read
from topicwarden.audit.scan import reader_jars
from topicwarden.audit.scan.hadoop_files import ReportFolder
from topicwarden.audit.scan.spark_platform import refuse_unsupported
from topicwarden.audit.scan.spark_session import session_on_demand
from topicwarden.audit.scan.spark_source import SparkSource
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.stack_connection import connect_to, registry_of, stack_settings
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.access import NO_ACCESS
from topicwarden.model.finding import AuditReport
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.model.subject import NO_SUBJECTS
from topicwarden.model.verdict import FailOn, ReadScope, Verdict
from topicwarden.operations.catalogues.publisher import publish_audit
from topicwarden.operations.declared_topics import checked_stack, require_topics
from topicwarden.operations.operation_options import SILENT, AuditOptions, ClusterAddress, ProgressListener
from topicwarden.operations.undeclared_cluster import undeclared_cluster
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.policies.rules.personal_data import personal_names
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import contents
from topicwarden.report.output_folder import require_writable, write_files
from topicwarden.specs.stacks.history_address import history_address
from topicwarden.specs.stacks.registry_settings import RegistrySettings
from topicwarden.specs.stacks.stack_settings import HISTORY
from topicwarden.usage.history_files import is_local

_NO_HISTORY: Final = "a suspect is settled by a second audit with the same --history DIR; this one kept no history"
AuditFunction: TypeAlias = Callable[[tuple[str, ...]], AuditReport]
"""A function that audits the topics whose names match any of the given globs; all topics without globs."""


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
    keep_spark: ExitStack | None = None,
) -> AuditReport:
    """Audit the topics of ``stack`` that match the globs ``patterns``, and return the report. Only reads from Kafka.

    ``master`` is the Spark master; None means the active Spark session, the master of spark-submit, or all cores of
    this machine. ``out`` is a folder for report files: a path, or a URI such as ``s3a://bucket/reports``. In JUnit
    XML, a test case fails from the verdict ``fail_on`` on. ``on_report`` receives the report before its files are
    written. A Spark session that this audit starts lasts as long as ``keep_spark``, for the next audit; by default, as
    long as the audit. At the end the catalogues of the stack get the verdicts; a failure there is a warning.

    Raises Refusal as ``auditing`` does, and if the files cannot be written.
    """
    if out is not None and not _is_uri(out):
        require_writable(Path(out))
    base = _stack_request(project, stack, options or AuditOptions())
    audits = _auditing(project, base, master, first=patterns, listener=listener, keep_spark=keep_spark)
    with audits as (audit_once, spark):
        report = audit_once(patterns)
        _deliver(report, _saver(out, spark), ReportBackground(project.root, check_docs(), fail_on), on_report, listener)
    for failure in publish_audit(project, stack, report):
        listener.warn(failure)
    return report


def audit_cluster(
    address: ClusterAddress,
    patterns: tuple[str, ...] = (),
    options: AuditOptions | None = None,
    *,
    master: str | None = None,
    out: str | None = None,
    fail_on: FailOn = FailOn.FAIL,
    on_report: Callable[[AuditReport], object] | None = None,
    listener: ProgressListener = SILENT,
) -> AuditReport:
    """Audit the topics of a cluster that no project declares: all that can be judged without declarations.

    The rest is as in ``audit_topics``. The history is that of ``options``; by default, none is kept, and nothing is
    written but Spark's own files in the user's cache.
    """
    if out is not None and not _is_uri(out):
        require_writable(Path(out))
    settings = options or AuditOptions()
    cluster = undeclared_cluster(address)
    reader_jars.jars(cluster.project)
    base = AuditRequest(
        cluster.name,
        cluster.connection,
        (),
        history=cluster.history(settings.history),
        since=settings.since,
        bounds=settings.bounds,
        root=Path.cwd(),
        registry=cluster.registry,
        authorizer_log=None if settings.authorizer_log is None else log_address(settings.authorizer_log),
        log_time_zone=settings.log_time_zone,
        declared=False,
    )
    if base.since is ReadScope.LAST and base.history is None:
        raise Refusal("--since last needs what an earlier audit has remembered: add --history DIR")
    with _auditing(cluster.project, base, master, first=patterns, listener=listener) as (audit_once, spark):
        report = audit_once(patterns)
        if address.command_config is not None:
            report = report.model_copy(update={"command_config": str(address.command_config.absolute())})
        if base.history is None and any(finding.verdict is Verdict.SUSPECT for finding in report.findings):
            report = report.model_copy(update={"notes": [*report.notes, _NO_HISTORY]})
        _deliver(report, _saver(out, spark), ReportBackground(base.root, check_docs(), fail_on), on_report, listener)
    return report


def _deliver(
    report: AuditReport,
    save: Callable[[Mapping[str, str]], Iterable[object]] | None,
    background: ReportBackground,
    on_report: Callable[[AuditReport], object] | None,
    listener: ProgressListener,
) -> None:
    """Give ``report`` to ``on_report``, and write its files with ``save``."""
    if on_report is not None:
        on_report(report)
    for location in save(contents(report, background)) if save else ():
        listener.note(str(location))


def _is_uri(out: str) -> bool:
    return "://" in out


def _saver(out: str | None, spark: SparkSource) -> Callable[[Mapping[str, str]], Iterable[object]] | None:
    """Return the function that writes the report files to ``out`` and returns their places; None for no files."""
    if out is None:
        return None
    return ReportFolder(spark(), out).write if _is_uri(out) else partial(write_files, Path(out))


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

    Spark starts now. With ``--since last`` and a history on this machine, it starts when the first audit finds
    something to read. ``first`` has the globs of the first audit, if they are known: the cluster is then read while
    Spark starts. Raises Refusal, before it starts Spark, if the installed Spark is not supported, if the declarations
    have errors, if the cluster does not respond, or if no topic matches ``first``.
    """
    base = _stack_request(project, stack, options or AuditOptions())
    with _auditing(project, base, master, first, listener=listener) as (audit_once, _):
        yield audit_once


@contextmanager
def _auditing(
    project: Project,
    base: AuditRequest,
    master: str | None,
    first: tuple[str, ...] | None,
    *,
    listener: ProgressListener,
    keep_spark: ExitStack | None = None,
) -> Iterator[tuple[AuditFunction, SparkSource]]:
    """Yield what ``auditing`` does for the request ``base`` with any patterns, and the source of its Spark session."""
    history, since = base.history, base.since

    def request(patterns: tuple[str, ...]) -> AuditRequest:
        return replace(base, patterns=patterns)

    with open_cluster(base.connection) as cluster:
        if first:
            names = {each.topic.name for each in base.declarations} | cluster.identities().keys()
            require_topics(names, first, base.scope)
    refuse_unsupported(master)
    with ExitStack() as resources:
        executor = resources.enter_context(ThreadPoolExecutor(max_workers=1))
        spark = session_on_demand(keep_spark or resources, project, master, listener.note)
        may_need_none = since is ReadScope.LAST and history is not None and is_local(history)
        observing = [] if first is None else [_Observing(request(first), executor, may_need_none)]
        if may_need_none and observing:
            with listener.stage("reading the cluster"):
                must_start = observing[0].needs_spark.result()
        else:
            must_start = not may_need_none
        if must_start:
            with listener.stage("starting Spark"):
                spark()

        def audit_once(patterns: tuple[str, ...]) -> AuditReport:
            observed = observing.pop().observed.result() if observing else None
            with listener.stage("reading the topics", then="judging the topics") as progress:
                return audit(spark, request(patterns), progress, observed)

        yield audit_once, spark


def _stack_request(project: Project, stack: str, options: AuditOptions) -> AuditRequest:
    """Return the request to audit ``stack``; errors in the stack's file come before those of the declarations."""
    reader_jars.jars(project)
    sources = _sources(project, stack, options)
    return _request(project, stack, checked_stack(project, stack, "audited"), options, sources)


def audit_request(project: Project, stack: str, checked: CheckedStacks, options: AuditOptions) -> AuditRequest:
    """Return the request to audit the declarations in ``checked``. Reads the settings and secrets of ``stack`` now.

    Raises Refusal if they cannot be read, or are invalid.
    """
    return _request(project, stack, checked, options, _sources(project, stack, options))


class _Sources(NamedTuple):
    """The cluster of an audit, its history and its Schema Registry, from the settings and secrets of the stack."""

    connection: Connection
    history: str | None
    registry: RegistrySettings | None


def _sources(project: Project, stack: str, options: AuditOptions) -> _Sources:
    connection = connect_to(project, stack)
    history = history_address(project, stack, stack_settings(project, stack).get(HISTORY), options.history)
    return _Sources(connection, history, registry_of(project, stack))


def _request(
    project: Project, stack: str, checked: CheckedStacks, options: AuditOptions, sources: _Sources
) -> AuditRequest:
    policy = checked.policy
    stack_file = policy.stack_file(stack)
    return AuditRequest(
        stack,
        sources.connection,
        checked.declarations[stack],
        history=sources.history,
        since=options.since,
        bounds=options.bounds,
        root=project.root,
        registry=sources.registry,
        partition_functions=stack_file.brokers.partition_functions,
        metadata_max_age=stack_file.brokers.metadata_max_age,
        scope=stack_file.scope,
        access=checked.access.get(stack, NO_ACCESS),
        subjects=checked.subjects.get(stack, NO_SUBJECTS),
        usage=policy.usage_for(stack),
        personal_names=personal_names(policy, stack),
        cost=policy.cost_for(stack),
        authorizer_log=None if options.authorizer_log is None else log_address(options.authorizer_log),
        log_time_zone=options.log_time_zone,
    )


class _Observing:
    """The cluster as an audit observes it, read by another thread.

    ``needs_spark``: whether the log ends in the first snapshot show that the audit must read records; known before
    ``observed``, so that Spark starts meanwhile. ``decide``: find out; else it is false.
    """

    def __init__(self, request: AuditRequest, executor: Executor, decide: bool) -> None:
        self.needs_spark: Future[bool] = Future()
        self._request, self._decide = request, decide
        self.observed = executor.submit(self._observe)

    def _observe(self) -> Observation:
        try:
            return self._request.observe(self._look_at if self._decide else None)
        finally:
            if not self.needs_spark.done():
                self.needs_spark.set_result(False)

    def _look_at(self, snapshot: Snapshot) -> None:
        if not self.needs_spark.done():
            self.needs_spark.set_result(must_read(self._request, snapshot))
