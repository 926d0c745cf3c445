"""The Pulumi policy pack: what ``policies/__main__.py`` runs. It serves the engine until the engine ends it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pulumi_policy as policy

from topicwarden.deploy.policy_gate import PolicyGate, stack_of
from topicwarden.deploy.pulumi_engine import TOPIC_TYPE
from topicwarden.deploy.stack_state import SET_TYPE
from topicwarden.deploy.topic_resources import DANGERS
from topicwarden.model.problem import Level
from topicwarden.model.project import find_project
from topicwarden.policies.judge_topics import RuleResult

_LEVELS = {
    Level.ERROR: policy.EnforcementLevel.MANDATORY,
    Level.WARNING: policy.EnforcementLevel.ADVISORY,
}


def serve(pack: Path) -> None:
    """Serves the rules of the project that ``pack`` (the folder of PulumiPolicy.yaml) lies in."""
    gate = PolicyGate(find_project(pack))
    policy.PolicyPack(
        "topicwarden",
        policies=[*(_of_topics(gate, level) for level in Level), *(_of_stack(gate, level) for level in Level)],
    )


def _of_topics(gate: PolicyGate, level: Level) -> policy.ResourceValidationPolicy:
    """Judged before each resource is registered, so that nothing is deployed which may not be."""

    def validate(args: policy.ResourceValidationArgs, report: policy.ReportViolation) -> None:
        if args.resource_type != TOPIC_TYPE:
            return
        for judgement in gate.of_resource(stack_of(args.urn), args.props):
            if judgement.level is level:
                report(_said(judgement), args.urn)

    return policy.ResourceValidationPolicy(
        name=f"topic-{level.value}",
        description=f"Rules of policies/*.yaml, level {level.value}, on each topic.",
        enforcement_level=_LEVELS[level],
        validate=validate,
    )


def _of_stack(gate: PolicyGate, level: Level) -> policy.StackValidationPolicy:
    """Rules over all topics together; and policy files that cannot be read, with which nothing may pass."""

    def validate(args: policy.StackValidationArgs, report: policy.ReportViolation) -> None:
        if level is Level.ERROR:
            for problem in gate.problems():
                report(problem, None)
        else:
            for danger in _dangers(args.resources):
                report(danger, None)
        topics = [resource for resource in args.resources if resource.resource_type == TOPIC_TYPE]
        if topics:
            for judgement in gate.of_stack(stack_of(topics[0].urn), [resource.props for resource in topics]):
                if judgement.level is level:
                    report(_said(judgement), None)

    return policy.StackValidationPolicy(
        name=f"stack-{level.value}",
        description=f"Rules of policies/*.yaml, level {level.value}, on all topics of the stack.",
        enforcement_level=_LEVELS[level],
        validate=validate,
    )


def _dangers(resources: Iterable[policy.PolicyResource]) -> Iterator[str]:
    """Yield what the deploy puts at risk; the program computed it from the live cluster."""
    for resource in resources:
        if resource.resource_type == SET_TYPE:
            yield from resource.props.get(DANGERS) or ()


def _said(judgement: RuleResult) -> str:
    about = f"{judgement.topic}: " if judgement.topic else ""
    return f"{about}{judgement.message} [{judgement.rule}]"
