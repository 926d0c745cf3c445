"""Write YAML for the undeclared topics of a stack's cluster, and adopt them into Pulumi's state."""

from __future__ import annotations

from topicwarden.cli.find_pulumi import writing_engine_of
from topicwarden.cli.waiting import waiting
from topicwarden.deploy.adoption import adopt
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.interchange.import_session import ImportSession, echo, report_skipped
from topicwarden.interchange.live_topics import changed_topics, declarable_topics
from topicwarden.kafka.connect.stack_connection import connect_to, settings_file
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.message_text import counted
from topicwarden.model.problem import Refusal
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.stacks.stack_settings import SCOPE

_ON_CLUSTER = "on the cluster"


def import_from_cluster(session: ImportSession, *, dry_run: bool, files_only: bool) -> int:
    """Write the files of undeclared topics, adopt their topics, and return the exit code.

    With ``dry_run`` or ``files_only``, no topic is adopted.
    """
    engine = None if dry_run or files_only else writing_engine_of(session.project, session.stack)
    # Export first: if Pulumi or the stack is missing, stop before any file is written.
    deployed = read_stack_state(engine) if engine else DeployedStack()
    connection = connect_to(session.project, session.stack)
    with open_cluster(connection) as cluster:
        with waiting("reading the cluster"):
            before = cluster.snapshot()
        if remark := check_cluster(session.stack, connection, deployed, before):
            echo(remark)
        if not before.topics:
            raise Refusal(
                "this user sees no topic: either the cluster has none, or the user lacks Describe on the topics"
            )
        live = declarable_topics(before)
        names = session.select([*live.topics, *live.refused])
        chosen = {name: live.topics[name] for name in names if name in live.topics}
        draft = session.draft_files(chosen.values(), session.stack)
        session.write(draft.files, dry_run)
        refused = {name: reason for name, reason in {**live.refused, **draft.refused}.items() if name in names}
        refused = {name: reason for name, reason in refused.items() if name not in session.declared}
        report_skipped(sum(name in session.declared for name in chosen), live.internal, refused)
        unadopted = {
            name: topic
            for name, topic in chosen.items()
            if name not in {*deployed.topics, *deployed.duplicates, *draft.refused}
        }
        differences_by_topic = {
            name: differences
            for name, topic in unadopted.items()
            if (differences := session.differences({name: topic}, _ON_CLUSTER))
        }
        session.show([problem for differences in differences_by_topic.values() for problem in differences])
        errors = session.check_files(draft.files, dry_run)
        if engine and (outside := session.outside([*chosen, *session.declared])):
            echo(
                f"nothing was adopted, because these topics are outside of the scope of stack {session.stack}: "
                f"{', '.join(outside)}; add to {SCOPE} in {settings_file(session.stack)} what the stack takes over, "
                "then run the command again"
            )
            errors = True
        elif engine and unadopted.keys() - differences_by_topic:
            _adopt(engine, cluster, before)
        elif engine:
            echo(f"nothing to adopt into stack {engine.stack}")
    return 1 if errors or differences_by_topic or refused else 0


def _adopt(engine: PulumiEngine, cluster: Cluster, before: Snapshot) -> None:
    with waiting("adopting the topics into Pulumi's state"):
        adoption = adopt(engine)
    changed = changed_topics(before, cluster.snapshot(adoption.topics), adoption.topics)
    if changed:
        raise Refusal(
            f"{', '.join(changed)} changed on the cluster during the adoption, although an adoption changes nothing: "
            "another client may have changed it; compare with `topicwarden plan`"
        )
    many_topics = counted(len(adoption.topics), "topic")
    echo(f"{many_topics} adopted into stack {engine.stack}; compared before and after, no setting changed")
    if adoption.pending:
        echo(f"{counted(adoption.pending, 'other change')} pending, not touched: see `pulumi preview`")
