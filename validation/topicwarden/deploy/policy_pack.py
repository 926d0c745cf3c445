"""The Pulumi policy pack, started by ``policies/__main__.py``. It serves the engine until the engine stops it."""

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
    """Serve the rules of the project that contains ``pack``, the folder of PulumiPolicy.yaml."""
    gate = PolicyGate(find_project(pack))
    policy.PolicyPack(
        "topicwarden",
        policies=[*(_topic_policy(gate, level) for level in Level), *(_stack_policy(gate, level) for level in Level)],
    )


def _topic_policy(gate: PolicyGate, level: Level) -> policy.ResourceValidationPolicy:
    """Return the policy that checks each topic before it is registered, so no forbidden topic is deployed."""

    def validate(args: policy.ResourceValidationArgs, report: policy.ReportViolation) -> None:
        if args.resource_type != TOPIC_TYPE:
            return
        for result in gate.check_resource(stack_of(args.urn), args.props):
            if result.level is level:
                report(_message(result), args.urn)

    return policy.ResourceValidationPolicy(
        name=f"topic-{level.value}",
        description=f"Rules of policies/*.yaml, level {level.value}, on each topic.",
        enforcement_level=_LEVELS[level],
        validate=validate,
    )


def _stack_policy(gate: PolicyGate, level: Level) -> policy.StackValidationPolicy:
    """Return the policy for rules on all topics together; unreadable policy files are errors, dangers are warnings."""

    def validate(args: policy.StackValidationArgs, report: policy.ReportViolation) -> None:
        if level is Level.ERROR:
            for problem in gate.problems():
                report(problem, None)
        else:
            for danger in _dangers(args.resources):
                report(danger, None)
        topics = [resource for resource in args.resources if resource.resource_type == TOPIC_TYPE]
        if topics:
            for result in gate.check_stack(stack_of(topics[0].urn), [resource.props for resource in topics]):
                if result.level is level:
                    report(_message(result), None)

    return policy.StackValidationPolicy(
        name=f"stack-{level.value}",
        description=f"Rules of policies/*.yaml, level {level.value}, on all topics of the stack.",
        enforcement_level=_LEVELS[level],
        validate=validate,
    )


def _dangers(resources: Iterable[policy.PolicyResource]) -> Iterator[str]:
    """Yield the dangers of the deploy, which the program computed from the live cluster."""
    for resource in resources:
        if resource.resource_type == SET_TYPE:
            yield from resource.props.get(DANGERS) or ()


def _message(result: RuleResult) -> str:
    prefix = f"{result.topic}: " if result.topic else ""
    return f"{prefix}{result.message} [{result.rule}]"
