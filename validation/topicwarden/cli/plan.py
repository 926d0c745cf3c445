"""`topicwarden plan`: what a deploy would change, and what would follow for live data."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from rich.console import Console

from topicwarden import __version__
from topicwarden.cli.declared_topics import declared
from topicwarden.cli.find_pulumi import engine_of
from topicwarden.cli.waiting import waiting
from topicwarden.deploy.preview import start_preview
from topicwarden.deploy.pulumi_engine import PulumiEngine as Pulumi
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.connection import connect_to
from topicwarden.model.planned_change import PlanReport, PreviewResult, Severity, TopicPlan
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.engine_steps import with_unpredicted
from topicwarden.plan.predict import predict
from topicwarden.plan.standing_allowances import active_allowances
from topicwarden.report import terminal_output
from topicwarden.report.plan import FORMATS, render, text

_PENDING = 3


def plan(stack: str, form: str | None, detailed: bool) -> int:
    """Prints the plan in the format ``form``; 1 where something may not be done, 3 where ``detailed`` and any pends."""
    form = form or ("github" if os.environ.get("GITHUB_ACTIONS") == "true" else "text")
    if form not in FORMATS:
        raise Refusal(f"there is no format {form!r}: expected one of {', '.join(FORMATS)}")
    project = find_project()
    report = planned(project, stack, engine_of(project, stack))
    if form == "text":
        terminal_output.write_text(text.render(report, Console()))
    else:
        terminal_output.write(render(report, form, project.root))
    if report.refused or not report.engine.ran:
        return 1
    return _PENDING if detailed and report.pending else 0


def planned(project: Project, stack: str, engine: Pulumi) -> PlanReport:
    """The plan of a stack: the preview runs while the cluster is looked at.

    Refuses declarations that do not hold, and a cluster or an engine that does not answer.
    """
    connection = connect_to(project, stack)
    declarations = declared(project, stack, "planned")
    with waiting("previewing, and looking at the cluster"), open_cluster(connection) as cluster:
        preview = start_preview(engine)
        deployed = preview.deployed
        names = {*deployed.topics, *deployed.duplicates, *(declaration.topic.name for declaration in declarations)}
        snapshot = cluster.snapshot(expected=names)
        remark = check_cluster(stack, connection, deployed, snapshot)
        plans = predict(cluster, snapshot, declarations, deployed)
        previewed = preview.result()
    echoes = _echoes(previewed.engine, plans)
    previewed.require_end(stack, echoes)
    plans = with_unpredicted(plans, previewed.steps, snapshot.topics.keys())
    return PlanReport(
        topicwarden=__version__,
        stack=stack,
        cluster_id=snapshot.cluster_id,
        taken_at=snapshot.taken_at,
        topics=list(plans),
        unchanged=len(names - {plan.topic for plan in plans}),
        unseen=list(snapshot.unseen),
        remarks=[remark] if remark else [],
        allowances=list(active_allowances(declarations, plans, snapshot.day)),
        engine=_without(echoes, previewed.engine),
    )


def _echoes(said: PreviewResult, plans: Sequence[TopicPlan]) -> tuple[str, ...]:
    """Return Pulumi's errors that a topic is protected, if the plan refuses what that prevents, and says why."""
    refused = [plan.topic for plan in plans if plan.weight is Severity.REFUSED]
    return tuple(error for error in said.errors if "protect" in error and any(f"::{name}" in error for name in refused))


def _without(echoes: Collection[str], said: PreviewResult) -> PreviewResult:
    errors = [error for error in said.errors if error not in echoes]
    return said.model_copy(update={"errors": errors, "ran": said.ran or not errors})
