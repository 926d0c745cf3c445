"""`topicwarden destroy`: delete the topics of a stack, if the deployed YAML of each allows that."""

from __future__ import annotations

import typer
from rich.console import Console

from topicwarden.cli.confirmation import confirmed, require_terminal
from topicwarden.cli.engine_output import engine_output
from topicwarden.cli.waiting import TERMINAL, waiting
from topicwarden.deploy.pulumi_commands import pulumi_without_program
from topicwarden.deploy.pulumi_engine import PulumiEngine, refuse_missing_backend
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.kafka.cluster import open_cluster
from topicwarden.kafka.stack_connection import connect_to
from topicwarden.model.planned_change import PlanReport
from topicwarden.model.problem import Level, Refusal
from topicwarden.model.project import find_project
from topicwarden.operations.find_pulumi import writing_engine_of
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.predict import predict
from topicwarden.plan.predicted_stack import predicted_stack
from topicwarden.report import terminal_output
from topicwarden.report.plan import text
from topicwarden.specs.stack_file import read_stack_file


def destroy(stack: str, yes: bool) -> int:
    """Delete all topics of the stack; return 1 and delete none if one of them may not be deleted.

    A topic may be deleted if its YAML allowed that by name at the last deploy, until the day of its ``until``. Shows
    the topics and their records first. Without ``yes``, ask then; refuse without a terminal.
    """
    engine = writing_engine_of(find_project(), stack, TERMINAL)
    report = _predicted(engine)
    terminal_output.write_text(text.render(report, Console()))
    if report.refused:
        return 1
    if not yes:
        require_terminal(f"topicwarden destroy --stack {stack}")
        if not confirmed("Delete these topics with their records?"):
            return 0
    options = write_options("destroy", backend_url(engine), len(report.topics))
    typer.echo(f"pulumi destroy: {options.line}", err=True)
    arguments = ("destroy", "--yes", "--skip-preview", "--suppress-outputs", *options.arguments)
    done = pulumi_without_program(options.on(engine), *arguments, on_line=engine_output())
    if done.returncode:
        refuse_missing_backend(done.stdout, stack)
    return 1 if done.returncode else 0


def _predicted(engine: PulumiEngine) -> PlanReport:
    """Return the plan of a deploy that declares nothing."""
    connection, deployed = connect_to(engine.project, engine.stack), read_stack_state(engine)
    settings = read_stack_file(engine.project, engine.stack)
    if errors := [problem for problem in settings.problems if problem.level is Level.ERROR]:
        raise Refusal("\n".join(map(str, errors)))  # without a readable scope, the stack would own all topics
    names = {*deployed.topics, *deployed.duplicates}
    with waiting("reading the cluster"), open_cluster(connection) as cluster:
        live = cluster.snapshot(names, expected=names, extents=False)
        remark = check_cluster(engine.stack, connection, deployed, live)
        prediction = predict(cluster, live, (), deployed, settings.scope, destroying=True)
    report = predicted_stack(engine.stack, prediction, (), deployed, remark).report
    return report.model_copy(update={"engine": report.engine.model_copy(update={"ran": True})})
