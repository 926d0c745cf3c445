"""Import live topics: write YAML for those that are not declared, and adopt them into Pulumi's state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from topicwarden.deploy.adoption import Adoption, adopt
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.interchange.import_session import ImportSession, open_session
from topicwarden.interchange.live_topics import changed_topics, declarable_topics
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.operations.find_pulumi import writing_engine_of
from topicwarden.operations.import_report import ImportReport, SkippedTopics
from topicwarden.operations.progress_listener import SILENT, ProgressListener
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.deployed_stack import DeployedStack


@dataclass(frozen=True)
class PendingAdoption:
    """The adoption that may follow an import, on the open ``cluster``.

    ``topics`` are on the cluster as declared, and not in Pulumi's state. ``out_of_scope`` are topics that the stack
    does not own: as long as there are any, nothing may be adopted. ``before`` is the cluster before the adoption.
    """

    engine: PulumiEngine
    cluster: Cluster
    before: Snapshot
    topics: frozenset[str]
    out_of_scope: tuple[str, ...]
    listener: ProgressListener

    def run(self) -> Adoption:
        """Adopt the topics into Pulumi's state. Raises Refusal if one of them changed on the cluster meanwhile."""
        with self.listener.stage("adopting the topics into Pulumi's state"):
            adopted = adopt(self.engine)
        if changed := changed_topics(self.before, self.cluster.snapshot(adopted.topics), adopted.topics):
            raise Refusal(
                f"{', '.join(changed)} changed on the cluster during the adoption, although an adoption changes "
                "nothing: another client may have changed it; compare with `topicwarden plan`"
            )
        return adopted


@contextmanager
def importing_topics(
    project: Project,
    stack: str | None,
    patterns: Sequence[str] = (),
    *,
    dry_run: bool = False,
    adopting: bool = True,
    listener: ProgressListener = SILENT,
) -> Iterator[tuple[ImportReport, PendingAdoption | None]]:
    """Write YAML for the undeclared topics on the cluster that match the globs ``patterns``.

    Yields the report, and the adoption that the caller may run next: None with ``dry_run``, without ``adopting``, and
    if the YAML has errors. Changes nothing on the cluster.

    Raises Refusal, before a file is written, if Pulumi or the stack is missing, if the cluster is another one, if the
    user sees no topic, or if none matches.
    """
    session = open_session(project, stack, patterns)
    if session.errors:
        yield ImportReport(session.stack, errors=session.errors), None
        return
    engine = writing_engine_of(project, session.stack, listener) if adopting and not dry_run else None
    deployed = read_stack_state(engine) if engine else DeployedStack()
    connection = connect_to(project, session.stack)
    with open_cluster(connection) as cluster:
        with listener.stage("reading the cluster"):
            before = cluster.snapshot()
        if remark := check_cluster(session.stack, connection, deployed, before):
            listener.warn(remark)
        if not before.topics:
            raise Refusal(
                "this user sees no topic: either the cluster has none, or the user lacks Describe on the topics"
            )
        report, chosen, adoptable = _declare(session, before, deployed, dry_run)
        outside = tuple(session.outside({*chosen, *session.declared}))
        pending = None if engine is None else PendingAdoption(engine, cluster, before, adoptable, outside, listener)
        yield report, pending


def _declare(
    session: ImportSession, before: Snapshot, deployed: DeployedStack, dry_run: bool
) -> tuple[ImportReport, frozenset[str], frozenset[str]]:
    """Write the files. Return the report, the topics that were selected, and those of them that may be adopted."""
    live = declarable_topics(before)
    names = session.select([*live.topics, *live.refused])
    chosen = {name: live.topics[name] for name in names if name in live.topics}
    draft = session.draft_files(chosen.values(), session.stack)
    if not dry_run:
        session.write(draft.files)
    unadopted = [name for name in chosen if name not in {*deployed.topics, *deployed.duplicates, *draft.refused}]
    differences = {name: session.differences({name: chosen[name]}, "on the cluster") for name in unadopted}
    refused = {**live.refused, **draft.refused}
    report = ImportReport(
        session.stack,
        files=tuple(draft.files),
        topics=len(chosen),
        skipped=SkippedTopics(sum(name in session.declared for name in chosen), live.internal),
        refused={name: refused[name] for name in names if name in refused and name not in session.declared},
        differences=tuple(problem for problems in differences.values() for problem in problems),
        problems=tuple(session.check_files(draft.files, dry_run)),
    )
    return report, frozenset(chosen), frozenset(name for name in unadopted if not differences[name])
