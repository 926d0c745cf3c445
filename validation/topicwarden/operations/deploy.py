"""Deploy, destroy and refresh the topics and the access of a stack, with the options of Pulumi that fit the backend."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from topicwarden.deploy.access_state import resource_names
from topicwarden.deploy.intent_log import intent_log
from topicwarden.deploy.program_run import PlanChanged, ProgramRun, Refused
from topicwarden.deploy.pulumi_commands import pulumi_up, pulumi_without_program
from topicwarden.deploy.pulumi_engine import (
    PulumiEngine,
    error_text,
    raise_if_partial,
    refuse_contradictions,
    refuse_missing_backend,
)
from topicwarden.deploy.stack_state import names_by_section, read_stack_state, reading_stack_state
from topicwarden.deploy.write_options import backend_url, write_options
from topicwarden.kafka.connect.stack_connection import connect_to, registry_of, stack_settings
from topicwarden.kafka.read.cluster import open_cluster
from topicwarden.kinds.announced_writes import Intent
from topicwarden.kinds.subject.before import SchemaCheckers, subjects_before
from topicwarden.model.access import NO_ACCESS
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import PlanReport, PlanSection
from topicwarden.model.problem import Level, Refusal
from topicwarden.model.subject import NO_SUBJECTS
from topicwarden.operations.operation_options import SILENT, ProgressListener
from topicwarden.plan.cluster_identity import check_cluster
from topicwarden.plan.earlier_use import EarlierUse
from topicwarden.plan.predict import predict
from topicwarden.plan.predicted_stack import new_losses, predicted_stack
from topicwarden.plan.withdrawn_words import with_withdrawn_subjects, without_withdrawn
from topicwarden.specs.declared_stack import DeclaredStack, declared_stack
from topicwarden.specs.stacks.stack_file import read_stack_file
from topicwarden.specs.stacks.stack_settings import HISTORY
from topicwarden.toolchain import schema_checker

if TYPE_CHECKING:
    from topicwarden.policies.check_specs import CheckedStacks

OutputLine = Callable[[str], None]
"""A function that receives each line that ``pulumi`` prints."""


def deploy_topics(
    engine: PulumiEngine,
    checked: CheckedStacks,
    on_line: OutputLine,
    *,
    refreshing: bool = False,
    confirmed: PlanReport | None = None,
    titles: dict[str, str] | None = None,
    listener: ProgressListener = SILENT,
) -> bool:
    """Deploy the ``checked`` topics; return False if a topic or a change was refused.

    Raises PlanChanged, and deploys nothing, if the deploy would lose what the ``confirmed`` plan did not show.
    ``refreshing`` also reverts changes that were made by hand, and creates topics again that were deleted by hand.
    ``titles`` gets what each deleted resource of access is in words, by its name, before ``on_line`` gets a line of it.
    Raises Refusal if the cluster or Pulumi does not respond, or if the cluster is another one than that of the last
    deploy.
    """
    reason = "as requested" if refreshing else "because a deploy was killed" if _deletion_was_killed(engine) else ""
    if reason:
        require_same_cluster(engine)
    stack = engine.stack
    resources = len(checked.declarations[stack]) + checked.access.get(stack, NO_ACCESS).size
    resources += len(checked.subjects.get(stack, NO_SUBJECTS).subjects)
    options = write_options("up", backend_url(engine), resources, refresh=reason)
    listener.warn(f"pulumi up: {options.line}")
    titles = {} if titles is None else titles
    run = ProgramRun(engine, checked=checked, confirmed=confirmed, refreshes=bool(reason), titles=titles)
    done = pulumi_up(run, options, "--suppress-outputs", on_line=on_line)
    succeeded = _succeeded(engine, done)
    if not succeeded:
        engine.require_known_stack(done.stdout)
        if run.refusal is not None and type(run.refusal) is not Refused:
            raise run.refusal
    return succeeded


def planned_destroy(engine: PulumiEngine, *, listener: ProgressListener = SILENT) -> PlanReport:
    """Return the plan of a deploy that declares nothing. Changes nothing.

    What the YAML allowed by name at the last deploy may be deleted, until the day of its ``until``, and unless a file
    that exists now does not allow it.
    """
    reading = reading_stack_state(engine)
    declared, connection = _declared_now(engine), connect_to(engine.project, engine.stack)
    settings = read_stack_file(engine.project, engine.stack)
    state = reading.result()
    if errors := [problem for problem in settings.problems if problem.level is Level.ERROR]:
        raise Refusal("\n".join(map(str, errors)))  # without a readable scope, the stack would own all topics
    history = stack_settings(engine.project, engine.stack).get(HISTORY)
    earlier = EarlierUse(engine.project, engine.stack, None if history is None else str(history))
    names = {*state.topics, *state.duplicates}
    with listener.stage("reading the cluster"), open_cluster(connection) as cluster:
        live = cluster.snapshot(names, expected=names, extents=False)
        remark = check_cluster(engine.stack, connection, state, live)
        deployed = without_withdrawn(state, declared.declarations, declared.access, live.day)
        prediction = predict(cluster, live, (), deployed, settings.scope, destroying=True, earlier=earlier)
    if deployed.subjects:
        with listener.stage("reading the Schema Registry"):
            registry = registry_of(engine.project, engine.stack)
            checkers = SchemaCheckers(lambda: schema_checker(engine.project, listener.warn))
            subjects = subjects_before(registry, NO_SUBJECTS, deployed.subjects, live.day, checkers=checkers).prediction
        if subjects is not None:
            plan = with_withdrawn_subjects(subjects.plan, deployed, declared.subjects, live.day)
            subjects = replace(subjects, plan=plan or subjects.plan)
        prediction = replace(prediction, subjects=subjects)
    report = predicted_stack(engine.stack, prediction, (), deployed, remark).report
    return report.model_copy(update={"engine": report.engine.model_copy(update={"ran": True})})


def _declared_now(engine: PulumiEngine) -> DeclaredStack:
    """Return what the files declare now, if there are any; refuse files that cannot be read: they may forbid it."""
    declared = declared_stack(engine.project, engine.stack.rpartition("/")[2])
    if declared.errors:
        raise Refusal("\n".join(map(str, declared.errors)))
    return declared


def destroy_topics(
    engine: PulumiEngine,
    plan: PlanReport,
    on_line: OutputLine,
    *,
    confirmed: PlanReport | None = None,
    titles: dict[str, str] | None = None,
    listener: ProgressListener = SILENT,
) -> bool:
    """Delete all topics of the stack; return False if Pulumi failed.

    ``plan`` is the result of ``planned_destroy``. Raises Refusal if it has a refused change, and PlanChanged if it has
    losses that an earlier ``confirmed`` one did not show. ``titles`` as in ``deploy_topics``.
    """
    if confirmed is not None and (losses := new_losses(confirmed, plan)):
        raise PlanChanged(losses)
    if plan.refused:
        raise Refusal(f"nothing was deleted: the plan of stack {engine.stack} has refused changes")
    resources = len(plan.topics) + (len(plan.access.items) if plan.access else 0)
    resources += len(plan.registry.subjects) if plan.registry else 0
    if titles is not None and plan.access:
        titles.update(resource_names(read_stack_state(engine).access))
    return _without_program(engine, "destroy", resources, on_line, listener)


def refresh_topics(
    engine: PulumiEngine,
    on_line: OutputLine,
    *,
    titles: dict[str, str] | None = None,
    listener: ProgressListener = SILENT,
) -> bool:
    """Write the settings and partitions of the live topics into Pulumi's state; return False if Pulumi failed.

    No topic is changed. A topic that is gone leaves the state. Raises Refusal if the stack was deployed to another
    cluster, which would remove all its topics from the state. ``titles`` as in ``deploy_topics``, for all access.
    """
    deployed = require_same_cluster(engine)
    if titles is not None:
        titles.update(resource_names(deployed.access))
    return _without_program(engine, "refresh", deployed.size, on_line, listener)


def _without_program(
    engine: PulumiEngine, command: str, resources: int, on_line: OutputLine, listener: ProgressListener
) -> bool:
    options = write_options(command, backend_url(engine), resources)
    listener.warn(f"pulumi {command}: {options.line}")
    arguments = (command, "--yes", "--skip-preview", "--suppress-outputs", *options.arguments)
    judged = command == "destroy"
    return _succeeded(engine, pulumi_without_program(options.on(engine), *arguments, judged=judged, on_line=on_line))


def _succeeded(engine: PulumiEngine, done: subprocess.CompletedProcess[str]) -> bool:
    """Return whether Pulumi succeeded. Raises Refusal if it says what is wrong with its environment or its state."""
    if done.returncode:
        raise_if_partial(error_text(done), engine.stack)
        refuse_missing_backend(done.stdout, engine.stack)
        refuse_contradictions(done.stdout + done.stderr, engine.stack)
    return not done.returncode


def _deletion_was_killed(engine: PulumiEngine) -> bool:
    """Return whether Pulumi's state still has what a deploy was about to delete."""
    intents = {section: intent_log(engine.project, engine.stack, section).read() for section in PlanSection}
    if Intent.DELETE not in {intent for logged in intents.values() for intent in logged.values()}:
        return False
    state = read_stack_state(engine)
    in_state = names_by_section({*state.topics, *state.duplicates}, state.access, state.subjects)
    return any(
        intent is Intent.DELETE and name in in_state[section]
        for section, logged in intents.items()
        for name, intent in logged.items()
    )


def require_same_cluster(engine: PulumiEngine) -> DeployedStack:
    """Return the stack as deployed; refuse another cluster than that of the last deploy.

    A refresh would remove the topics from the state that the other cluster does not have. The program refuses it, too,
    but runs after the refresh.
    """
    connection, deployed = connect_to(engine.project, engine.stack), read_stack_state(engine)
    with open_cluster(connection) as cluster:
        check_cluster(engine.stack, connection, deployed, cluster.snapshot(deployed.topics))
    return deployed
