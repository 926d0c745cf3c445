"""`topicwarden import`: write YAML for undeclared topics, and adopt them into Pulumi's state."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from topicwarden.cli.find_pulumi import writing_engine_of
from topicwarden.cli.waiting import waiting
from topicwarden.deploy.adoption import adopt
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.interchange.convert import FORMATS, SourceFile, read_all
from topicwarden.interchange.import_session import ImportSession, echo, open_session
from topicwarden.interchange.live_topics import changed_topics, declarable_topics
from topicwarden.kafka.connect.stack_connection import connect_to, settings_file
from topicwarden.kafka.read.cluster import Cluster, open_cluster
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.message_text import counted, did_you_mean
from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.model.regular_file import read_regular_file
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.stacks.stack_settings import SCOPE

_MAX_BYTES: Final = 64 << 20
"""The most bytes of a file of another tool. A description of 10,000 topics has less than 20 MiB."""
_ON_CLUSTER = "on the cluster"


def import_(
    stack: str | None,
    patterns: Sequence[str],
    sources: Sequence[Path] = (),
    form: str | None = None,
    *,
    dry_run: bool = False,
    files_only: bool = False,
) -> int:
    """Write YAML for undeclared topics, adopt topics that are on the cluster as declared, and return the exit code.

    With ``sources``, files of other tools, the topics come from these files, and no cluster is contacted. Returns 1 if
    a topic was not imported, or if an imported topic violates a rule.
    """
    if form is not None and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}{did_you_mean(form, FORMATS) or ': expected ' + ', '.join(FORMATS)}")
    session = open_session(find_project(), stack, patterns)
    if session.errors:
        session.show(session.errors)
        echo(f"nothing was imported: {counted(len(session.errors), 'error')} in topics/ may hide what is declared")
        return 1
    return _from_files(session, sources, form, dry_run) if sources else _from_cluster(session, dry_run, files_only)


def _from_files(session: ImportSession, sources: Sequence[Path], form: str | None, dry_run: bool) -> int:
    imported = read_all([_source(session.project, path) for path in sources], form)
    names = [source.topic.name for source in imported.topics]
    selected_names = set(session.select(names))
    converted, unknown_counts = session.completed(
        [source for source in imported.topics if source.topic.name in selected_names]
    )
    chosen = {} if unknown_counts else {source.topic.name: source.topic for source in converted}
    draft = session.draft_files(
        chosen.values(),
        None,
        {source.topic.name: source.comments for source in converted},
        {source.topic.name: source.schemas for source in converted},
    )
    places = {source.topic.name: source.place for source in converted}
    refused = [Problem(places[name], f"{name}: {reason}", "value") for name, reason in draft.refused.items()]
    for note in imported.notes:
        echo(str(note))
    if problems := sorted([*imported.problems, *unknown_counts, *refused]):
        session.show(problems)
        echo(f"nothing was imported: {counted(len(problems), 'error')}")
        return 1
    session.write(draft.files, dry_run)
    differences = session.differences(chosen, "in the file")
    others = [name for name in session.outside(names) if name not in chosen]
    _report_skipped(len(chosen) - sum(file.topic is not None for file in draft.files), 0, {}, len(others))
    session.show(differences)
    errors = session.check_files(draft.files, dry_run)
    if not chosen:
        echo("nothing was imported: the files have no topic that a declaration could be written for")
    elif not dry_run:
        echo(
            f"next: `topicwarden import --stack {session.stack}` adopts the topics that are on the cluster as declared"
        )
    return 1 if errors or differences else 0


def _from_cluster(session: ImportSession, dry_run: bool, files_only: bool) -> int:
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
        _report_skipped(sum(name in session.declared for name in chosen), live.internal, refused)
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


def _report_skipped(declared: int, internal: int, refused: Mapping[str, str], others: int = 0) -> None:
    counts = [(declared, "already declared"), (internal, "internal"), (others, "outside of the stack's scope")]
    if any(number for number, _ in counts):
        echo("skipped: " + ", ".join(f"{number:,} {reason}" for number, reason in counts if number))
    for name, reason in sorted(refused.items()):
        echo(f"not imported: {name}: {reason}")


def _source(project: Project, path: Path) -> SourceFile:
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    display_path = absolute.relative_to(project.root) if absolute.is_relative_to(project.root) else path
    try:
        root = project.root if absolute.is_relative_to(project.root) else absolute.parent
        return SourceFile(display_path.as_posix(), read_regular_file(path, _MAX_BYTES), absolute, root)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
