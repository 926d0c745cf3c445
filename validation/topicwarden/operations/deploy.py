"""Deploy, destroy and refresh the topics of a stack, with the options of Pulumi that fit the backend."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from topicwarden.deploy.intent_log import Intent, intent_log
from topicwarden.deploy.program_run import ProgramRun, Refused
from topicwarden.deploy.pulumi_commands import pulumi_up, pulumi_without_program
from topicwarden.deploy.pulumi_engine import PulumiEngine, refuse_missing_backend
from topicwarden.deploy.stack_state import read_stack_state
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.kafka.connect.stack_connection import connect_to
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.model.planned_change import PlanReport
from topicwarden.model.problem import Level, Refusal
from topicwarden.operations.progress_listener import SILENT, ProgressListener
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.plan.predict import predict
from topicwarden.plan.predicted_stack import predicted_stack
from topicwarden.policies.check_specs import CheckedStacks
from topicwarden.stacks.stack_file import read_stack_file

OutputLine = Callable[[str], None]
"""A function that receives each line that ``pulumi`` prints."""


def deploy_topics(
    engine: PulumiEngine,
    checked: CheckedStacks,
    on_line: OutputLine,
    *,
    refreshing: bool = False,
    listener: ProgressListener = SILENT,
) -> bool:
    """Deploy the ``checked`` topics; return False if a topic or a change was refused.

    ``refreshing`` also reverts changes that were made by hand, and creates topics again that were deleted by hand.
    Raises Refusal if the cluster or Pulumi does not respond, or if the cluster is another one than that of the last
    deploy.
    """
    if refreshing:
        require_same_cluster(engine)
    reason = "as requested" if refreshing else "because a deploy was killed" if _deletion_was_killed(engine) else ""
    topics = len(checked.declarations[engine.stack])
    options = write_options("up", backend_url(engine), topics, refresh=reason)
    listener.warn(f"pulumi up: {options.line}")
    run = ProgramRun(engine, checked=checked)
    done = pulumi_up(run, options, "--suppress-outputs", on_line=on_line)
    succeeded = _succeeded(engine, done)
    if not succeeded:
        if "no stack named" in done.stdout:
            engine.require_stack()
        if run.refusal is not None and not isinstance(run.refusal, Refused):
            raise run.refusal
    return succeeded


def planned_destroy(engine: PulumiEngine, *, listener: ProgressListener = SILENT) -> PlanReport:
    """Return the plan of a deploy that declares nothing. Changes nothing.

    A topic may be deleted if its YAML allowed that by name at the last deploy, until the day of its ``until``.
    """
    connection, deployed = connect_to(engine.project, engine.stack), read_stack_state(engine)
    settings = read_stack_file(engine.project, engine.stack)
    if errors := [problem for problem in settings.problems if problem.level is Level.ERROR]:
        raise Refusal("\n".join(map(str, errors)))  # without a readable scope, the stack would own all topics
    names = {*deployed.topics, *deployed.duplicates}
    with listener.stage("reading the cluster"), open_cluster(connection) as cluster:
        live = cluster.snapshot(names, expected=names, extents=False)
        remark = check_cluster(engine.stack, connection, deployed, live)
        prediction = predict(cluster, live, (), deployed, settings.scope, destroying=True)
    report = predicted_stack(engine.stack, prediction, (), deployed, remark).report
    return report.model_copy(update={"engine": report.engine.model_copy(update={"ran": True})})


def destroy_topics(
    engine: PulumiEngine, plan: PlanReport, on_line: OutputLine, *, listener: ProgressListener = SILENT
) -> bool:
    """Delete all topics of the stack; return False if Pulumi failed.

    ``plan`` is the result of ``planned_destroy``. Raises Refusal if it has a refused change.
    """
    if plan.refused:
        raise Refusal(f"nothing was deleted: the plan of stack {engine.stack} has refused changes")
    return _without_program(engine, "destroy", len(plan.topics), on_line, listener)


def refresh_topics(engine: PulumiEngine, on_line: OutputLine, *, listener: ProgressListener = SILENT) -> bool:
    """Write the settings and partitions of the live topics into Pulumi's state; return False if Pulumi failed.

    No topic is changed. A topic that is gone leaves the state. Raises Refusal if the stack was deployed to another
    cluster, which would remove all its topics from the state.
    """
    deployed = require_same_cluster(engine)
    return _without_program(engine, "refresh", len(deployed.topics), on_line, listener)


def _without_program(
    engine: PulumiEngine, command: str, topics: int, on_line: OutputLine, listener: ProgressListener
) -> bool:
    options = write_options(command, backend_url(engine), topics)
    listener.warn(f"pulumi {command}: {options.line}")
    arguments = (command, "--yes", "--skip-preview", "--suppress-outputs", *options.arguments)
    return _succeeded(engine, pulumi_without_program(options.on(engine), *arguments, on_line=on_line))


def _succeeded(engine: PulumiEngine, done: subprocess.CompletedProcess[str]) -> bool:
    """Return whether Pulumi succeeded. Raises Refusal if the environment lacks the backend or the passphrase."""
    if done.returncode:
        refuse_missing_backend(done.stdout, engine.stack)
    return not done.returncode


def _deletion_was_killed(engine: PulumiEngine) -> bool:
    """Return whether Pulumi's state still has a topic that a deploy was about to delete."""
    intents = intent_log(engine.project, engine.stack).read()
    deleted = {topic for topic, intent in intents.items() if intent is Intent.DELETE}
    if not deleted:
        return False
    state = read_stack_state(engine)
    return not deleted.isdisjoint({*state.topics, *state.duplicates})


def require_same_cluster(engine: PulumiEngine) -> DeployedStack:
    """Return the stack as deployed; refuse another cluster than that of the last deploy.

    A refresh would remove the topics from the state that the other cluster does not have. The program refuses it, too,
    but runs after the refresh.
    """
    connection, deployed = connect_to(engine.project, engine.stack), read_stack_state(engine)
    with open_cluster(connection) as cluster:
        check_cluster(engine.stack, connection, deployed, cluster.snapshot(deployed.topics))
    return deployed
