"""`topicwarden import`: YAML for topics that nobody declared, and their adoption into Pulumi's state."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from topicwarden.cli.find_pulumi import engine_of
from topicwarden.deploy.adoption import adopt
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.importing.import_session import ImportSession, echo, open_session
from topicwarden.importing.live_topics import changed_topics, declarable_topics
from topicwarden.kafka.cluster import Cluster, open_cluster
from topicwarden.kafka.connection import connect_to
from topicwarden.kafka.snapshot import Snapshot
from topicwarden.model.problem import Problem, Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.report.problems.digest import many
from topicwarden.specs.convert import FORMATS, SourceFile, read_all
from topicwarden.specs.message_text import did_you_mean

_HERE = "on the cluster"


def import_(
    stack: str | None,
    patterns: Sequence[str],
    sources: Sequence[Path] = (),
    form: str | None = None,
    *,
    dry_run: bool = False,
    files_only: bool = False,
) -> int:
    """Writes what is missing in ``topics/``, adopts what is on the cluster as declared, and says what is left to do.

    With ``sources``, files of other tools, no cluster is asked. 1 where something was not imported, or where a rule
    speaks against what was.
    """
    if form is not None and form not in FORMATS:
        raise Refusal(f"there is no format {form!r}{did_you_mean(form, FORMATS) or ': expected ' + ', '.join(FORMATS)}")
    desk = open_session(find_project(), stack, patterns)
    if desk.errors:
        desk.show(desk.errors)
        echo(f"nothing was imported: {many(len(desk.errors), 'error')} in topics/ may hide what is declared")
        return 1
    return _from_files(desk, sources, form, dry_run) if sources else _from_cluster(desk, dry_run, files_only)


def _from_files(desk: ImportSession, sources: Sequence[Path], form: str | None, dry_run: bool) -> int:
    imported = read_all([_source(desk.project, path) for path in sources], form)
    topics = {one.topic.name: one.topic for one in imported.topics}
    chosen = {name: topics[name] for name in desk.select(topics)}
    draft = desk.draft_files(chosen.values(), None, {one.topic.name: one.comments for one in imported.topics})
    places = {one.topic.name: one.place for one in imported.topics}
    refused = [Problem(places[name], f"{name}: {why}", "value") for name, why in draft.refused.items()]
    for note in imported.notes:
        echo(str(note))
    if problems := sorted([*imported.problems, *refused]):
        desk.show(problems)
        echo(f"nothing was imported: {many(len(problems), 'error')}")
        return 1
    desk.write(draft.files, dry_run)
    differing = desk.differences(chosen, "in the file")
    _skipped(len(chosen) - sum(file.topic is not None for file in draft.files), 0, {})
    desk.show(differing)
    wrong = desk.check_files(draft.files, dry_run)
    if not dry_run:
        echo(f"next: `topicwarden import --stack {desk.stack}` adopts those that are on the cluster exactly so")
    return 1 if wrong or differing else 0


def _from_cluster(desk: ImportSession, dry_run: bool, files_only: bool) -> int:
    engine = None if dry_run or files_only else engine_of(desk.project, desk.stack)
    # Asked before anything is written: without Pulumi, or without the stack, nothing is done by halves.
    deployed = read_stack_state(engine) if engine else DeployedStack()
    connection = connect_to(desk.project, desk.stack)
    with open_cluster(connection) as cluster:
        before = cluster.snapshot()
        if remark := check_cluster(desk.stack, connection, deployed, before):
            echo(remark)
        live = declarable_topics(before)
        names = desk.select([*live.topics, *live.refused])
        chosen = {name: live.topics[name] for name in names if name in live.topics}
        draft = desk.draft_files(chosen.values(), desk.stack)
        desk.write(draft.files, dry_run)
        refused = {name: why for name, why in {**live.refused, **draft.refused}.items() if name in names}
        refused = {name: why for name, why in refused.items() if name not in desk.declared}
        _skipped(sum(name in desk.declared for name in chosen), live.internal, refused)
        unadopted = {
            name: one
            for name, one in chosen.items()
            if name not in {*deployed.topics, *deployed.duplicates, *draft.refused}
        }
        differing = {name: found for name, one in unadopted.items() if (found := desk.differences({name: one}, _HERE))}
        desk.show([problem for found in differing.values() for problem in found])
        wrong = desk.check_files(draft.files, dry_run)
        if engine and unadopted.keys() - differing:
            _adopt(engine, cluster, before)
        elif engine:
            echo(f"nothing to adopt into stack {engine.stack}")
    return 1 if wrong or differing or refused else 0


def _adopt(engine: PulumiEngine, cluster: Cluster, before: Snapshot) -> None:
    adoption = adopt(engine)
    changed = changed_topics(before, cluster.snapshot(adoption.topics), adoption.topics)
    if changed:
        raise Refusal(
            f"{', '.join(changed)} changed on the cluster while being adopted, which an adoption does not do: "
            "was someone else at work? compare with `topicwarden plan`"
        )
    many_topics = many(len(adoption.topics), "topic")
    echo(f"{many_topics} adopted into stack {engine.stack}; compared before and after, not one setting changed")
    if adoption.pending:
        echo(f"{many(adoption.pending, 'other change')} pending, not touched: see `pulumi preview`")


def _skipped(declared: int, internal: int, refused: Mapping[str, str]) -> None:
    counted = [(declared, "declared already"), (internal, "internal")]
    if any(number for number, _ in counted):
        echo("skipped: " + ", ".join(f"{number:,} {what}" for number, what in counted if number))
    for name, why in sorted(refused.items()):
        echo(f"not imported: {name}: {why}")


def _source(project: Project, path: Path) -> SourceFile:
    absolute = Path(os.path.abspath(path))  # noqa: PTH100
    shown = absolute.relative_to(project.root) if absolute.is_relative_to(project.root) else path
    try:
        return SourceFile(shown.as_posix(), path.read_bytes())
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
