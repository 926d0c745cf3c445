"""Report who uses the topics of a stack, what nobody uses, and what topics cost. Only reads from Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from topicwarden.audit.collect_usage import usage_facts
from topicwarden.kafka.connect.connection import Connection
from topicwarden.kafka.connect.stack_connection import connect_to, stack_settings
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kafka.read.group_lags import group_lags, unread_positions
from topicwarden.model.access import NO_ACCESS, DeclaredAccess
from topicwarden.model.project import Project
from topicwarden.model.topic_selection import selected
from topicwarden.model.usage import AuthorizerLogs
from topicwarden.model.usage_report import UsageReport
from topicwarden.operations.declared_topics import checked_stack, require_topics
from topicwarden.operations.operation_options import SILENT, ClusterAddress, ProgressListener, UsageOptions
from topicwarden.operations.undeclared_cluster import undeclared_cluster
from topicwarden.policies.usage_policy import CostPolicy, UsagePolicy
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.history_address import history_address
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.specs.stacks.stack_settings import HISTORY
from topicwarden.usage.assemble_report import usage_report
from topicwarden.usage.history_files import HistoryFiles, is_local
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_history import UseHistory, remember_in_context

if TYPE_CHECKING:
    from topicwarden.audit.scan.spark_source import SparkSource


def usage_topics(
    project: Project,
    stack: str,
    patterns: tuple[str, ...] = (),
    options: UsageOptions | None = None,
    *,
    listener: ProgressListener = SILENT,
) -> UsageReport:
    """Report the use of the topics of ``stack`` that match the globs ``patterns``, and remember it in the history.

    Raises Refusal if the declarations have errors, if the cluster does not respond, if no topic matches, or if the
    authorizer logs cannot be read.
    """
    settings = options or UsageOptions()
    checked = checked_stack(project, stack, "reported")
    policy = checked.policy
    target = _Target(
        stack,
        project,
        connect_to(project, stack),
        history_address(project, stack, stack_settings(project, stack).get(HISTORY), settings.history),
        {each.topic.name: each for each in checked.declarations[stack]},
        checked.access.get(stack, NO_ACCESS),
        policy.stack_file(stack).scope,
        policy.usage_for(stack),
        policy.cost_for(stack),
    )
    return _usage(target, patterns, settings, listener)


def usage_of_cluster(
    address: ClusterAddress,
    patterns: tuple[str, ...] = (),
    options: UsageOptions | None = None,
    *,
    listener: ProgressListener = SILENT,
) -> UsageReport:
    """Report the use of the topics of a cluster that no project declares. By default, no history is kept.

    The rest is as in ``usage_topics``.
    """
    settings = options or UsageOptions()
    cluster = undeclared_cluster(address)
    history = cluster.history(settings.history)
    return _usage(_Target(cluster.name, cluster.project, cluster.connection, history), patterns, settings, listener)


@dataclass(frozen=True)
class _Target:
    """The subject of a report: a stack, or a cluster that no project declares; ``url`` is the URI of its history."""

    name: str
    project: Project
    connection: Connection
    url: str | None
    declarations: Mapping[str, Declaration] = field(default_factory=dict)
    access: DeclaredAccess = NO_ACCESS
    scope: StackScope = EVERY_TOPIC
    usage: UsagePolicy | None = None
    cost: CostPolicy | None = None


def _usage(
    target: _Target, patterns: tuple[str, ...], settings: UsageOptions, listener: ProgressListener
) -> UsageReport:
    declarations, scope, url = target.declarations, target.scope, target.url
    with ExitStack() as resources:
        spark = _Spark(resources, target.project, settings.master, listener)
        files = spark.files(url)
        logs = spark.logs(settings.authorizer_log, settings.log_time_zone)
        with listener.stage("reading the cluster"), open_cluster(target.connection) as cluster:
            snapshot = cluster.snapshot(expected=declarations)
            require_topics({*declarations, *snapshot.topics}, patterns, scope)
            use = cluster.use(snapshot)
            positions = unread_positions(use.groups, snapshot.topics)
            lags = group_lags(use.groups, snapshot.topics, cluster.unread_records(snapshot, positions))
            access = cluster.access()
        observer = target.connection.principal
        context = UseContext(target.access, access, scope, target.usage, logs, observer=observer)
        with listener.stage("comparing with the history"):
            history = UseHistory(url, files)
            remembered, context = remember_in_context(history, snapshot, use, context)
    return usage_report(
        usage_facts(
            snapshot,
            use,
            remembered,
            context,
            stack=target.name,
            declarations=declarations,
            lags=lags,
            cost=target.cost,
            patterns=patterns,
            selects=lambda topic: scope.owns(topic) and selected(topic, patterns),
        )
    )


class _Spark:
    """Spark for the parts of a report that need it. All others need neither Java nor the extra ``audit``."""

    def __init__(self, resources: ExitStack, project: Project, master: str | None, listener: ProgressListener) -> None:
        self._resources, self._project, self._master, self._listener = resources, project, master, listener
        self._source: SparkSource | None = None

    def files(self, url: str | None) -> HistoryFiles | None:
        """Return the operations on the files of a history; None for a history on this machine."""
        if url is None or is_local(url):
            return None
        from topicwarden.audit.history.store import files_at  # noqa: PLC0415

        return files_at(url, self._spark())

    def logs(self, folder: str | None, time_zone: str) -> AuthorizerLogs | None:
        """Return the authorizer logs in ``folder``; None without one."""
        if folder is None:
            return None
        from topicwarden.audit.authorizer_log.log_folder import log_address  # noqa: PLC0415
        from topicwarden.audit.authorizer_log.read_logs import log_notes, read_authorizer_logs  # noqa: PLC0415

        url = log_address(folder)
        with self._listener.stage("reading the authorizer logs"):
            logs = read_authorizer_logs(self._spark()(), url, time_zone)
        return replace(logs, notes=tuple(log_notes(logs)))

    def _spark(self) -> SparkSource:
        if self._source is None:
            from topicwarden.audit.scan.spark_platform import refuse_unsupported  # noqa: PLC0415
            from topicwarden.audit.scan.spark_session import session_on_demand  # noqa: PLC0415

            refuse_unsupported(self._master)
            self._source = session_on_demand(self._resources, self._project, self._master, self._listener.note)
        return self._source
