"""Previews a deploy: the engine's own steps, and what the program predicts meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from topicwarden.deploy.access_state import RESOURCE_TYPES
from topicwarden.deploy.program_run import ProgramRun, Purpose
from topicwarden.deploy.pulumi_commands import pulumi_preview
from topicwarden.deploy.pulumi_engine import PulumiEngine, log_of, without_traceback
from topicwarden.deploy.pulumi_project import project_settings
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.kinds.access_resource import EDITED
from topicwarden.kinds.topic.resource import DOMAIN_TYPE, SET_TYPE, TOPIC_PATH, TOPIC_TYPE
from topicwarden.model import planned_change
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.problem import Refusal
from topicwarden.model.topic_selection import none_selected, selected
from topicwarden.plan.engine_steps import EngineStep, ResourceNames
from topicwarden.plan.predicted_stack import PredictedStack
from topicwarden.specs.resolve import Declaration

if TYPE_CHECKING:
    from topicwarden.policies.check_specs import CheckedStacks


@dataclass(frozen=True)
class PreviewedStack:
    """The result of a preview, and its steps on topics, access and subjects, without steps that change nothing.

    ``names`` are those of the resources of access and of subjects. ``complete`` is true if the program registered all
    its topics. ``log`` has Pulumi's full messages.
    """

    engine: planned_change.PreviewResult
    steps: Mapping[PlanSection, Sequence[EngineStep]]
    names: Mapping[PlanSection, ResourceNames]
    complete: bool
    log: str
    predicted: PredictedStack

    def require_end(self, stack: str, explained: Collection[str]) -> None:
        """Refuse a preview whose program ended early: it has not registered all topics that the YAML declares.

        ``explained`` are the errors of the engine at topics that the plan refuses.
        """
        rest = [error for error in self.engine.errors if error not in explained]
        if self.complete or (explained and not rest):
            return
        raise _ended_early(stack, rest, self.log)


def preview(engine: PulumiEngine, checked: CheckedStacks, patterns: Sequence[str]) -> PreviewedStack:
    """Preview the deploy of the ``checked`` topics. With ``patterns``, only of the topics that match these globs.

    Raises Refusal if no topic matches, if the state cannot be read, or if the program ended before its prediction.
    """
    targets = _targets(engine, checked.declarations[engine.stack], patterns) if patterns else []
    run, answer = pulumi_preview(lambda: ProgramRun(engine, Purpose.PLAN, tuple(patterns), checked), targets)
    errors, log = _errors(answer.diagnostics), log_of(answer.done)
    if run.prediction is None:
        engine.require_stack()
        raise _ended_early(engine.stack, errors, log)
    steps: dict[PlanSection, list[EngineStep]] = {section: [] for section in PlanSection}
    for step in answer.steps:
        if step.op != "same" and (section := _section(step, run.names)) is not None:
            steps[section].append(step)
    counts = dict(sorted(Counter(step.op for step in steps[PlanSection.TOPICS]).items()))
    engine_report = planned_change.PreviewResult(ran=answer.done.returncode == 0, steps=counts, errors=errors)
    return PreviewedStack(engine_report, steps, run.names, run.complete, log, run.prediction)


def _section(step: EngineStep, names: Mapping[PlanSection, ResourceNames]) -> PlanSection | None:
    """Return the section of the plan that a step is about; None if it only removes a resource from the state.

    Such a resource is a further one of access that the program registers as well, or of a subject: the provider deletes
    no subject that no deploy has allowed to delete.
    """
    if step.type == TOPIC_TYPE:
        return PlanSection.TOPICS
    kind = RESOURCE_TYPES.get(step.type)
    if kind is None or (kind.section is PlanSection.REGISTRY and not kind.registered(step.urn)):
        return None
    if kind.registered(step.urn):
        return kind.section
    try:
        leaves = step.op == "delete" and kind.name(kind.key_of(step.properties)) in names[kind.section].declared
    except EDITED:
        leaves = False
    return None if leaves else kind.section


def _ended_early(stack: str, errors: Sequence[str], log: str) -> Refusal:
    reason = "; ".join(errors) or "the program ended before all its topics were registered"
    return Refusal(
        f"`pulumi preview` ended early, so there is no plan: {reason}; "
        f"`topicwarden -v plan --stack {stack}` shows all messages of Pulumi",
        details=log,
    )


def _targets(engine: PulumiEngine, declarations: Iterable[Declaration], patterns: Sequence[str]) -> list[str]:
    resources = engine.resources()
    stack = deployed_stack(resources)
    deployed = stack.only(patterns)
    declared = [declaration.topic for declaration in declarations]
    topics = [topic for topic in declared if selected(topic.name, patterns)]
    names = {*deployed.topics, *deployed.duplicates, *(topic.name for topic in topics)}
    if not names:
        raise none_selected(
            "topic, declared or deployed,", patterns, {*stack.topics, *(topic.name for topic in declared)}
        )
    existing = {str(resource["urn"]) for resource in resources}
    return target_urns(engine, (topic.domain for topic in topics), names, deployed, existing)


def _errors(diagnostics: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the errors, one line each, without the engine's closing line."""
    messages = (str(entry["message"]) for entry in diagnostics if entry.get("severity") == "error")
    lines = (" ".join(without_traceback(message.removeprefix("error: ")).split()) for message in messages)
    return [line for line in dict.fromkeys(lines) if line and line != "preview failed"]


def target_urns(
    engine: PulumiEngine,
    domains: Iterable[str],
    names: Iterable[str],
    deployed: DeployedStack,
    existing: Collection[str],
) -> list[str]:
    """Return the URNs of the topics ``names`` as ``TopicResources`` registers them, with their new parents.

    ``domains`` are the domains of the declared topics among them. ``deployed`` has their other resources. ``existing``
    are the URNs in the state: an existing parent is no target, because the engine would delete all below it that the
    program does not register (Pulumi's ``determineAllowedResourcesToDeleteFromTargets``).
    """
    stack, project = engine.stack.rpartition("/")[2], project_settings(engine.project)["name"]
    prefix = f"urn:pulumi:{stack}::{project}::"
    parents = [
        f"{prefix}pulumi:pulumi:Stack::{project}-{stack}",
        f"{prefix}{SET_TYPE}::{stack}",
        *(f"{prefix}{SET_TYPE}${DOMAIN_TYPE}::{stack}/{domain or 'topics'}" for domain in sorted(set(domains))),
    ]
    provider = f"{prefix}pulumi:providers:kafka::"
    return [
        *(urn for urn in parents if urn not in existing),
        *([] if any(urn.startswith(provider) for urn in existing) else [f"{provider}*"]),
        *(f"{prefix}{TOPIC_PATH}::{name}" for name in sorted(names)),
        *(each.urn for duplicates in deployed.duplicates.values() for each in duplicates),
    ]
