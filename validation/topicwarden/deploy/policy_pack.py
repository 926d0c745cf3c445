"""The Pulumi policy pack: checks the policies on the resources that Pulumi is about to deploy.

``policies/__main__.py`` starts it. It serves the engine until the engine stops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

import pulumi_policy as policy

from topicwarden.deploy.topic_resources import DANGERS
from topicwarden.kinds.topic.resource import SET_TYPE, TOPIC_TYPE
from topicwarden.model.problem import Level
from topicwarden.model.project import Project, find_project
from topicwarden.model.topic import Topic
from topicwarden.policies.judge_topics import RuleResult, judge_topics
from topicwarden.policies.policy import Policy
from topicwarden.policies.policy_file import load_policy
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve


@dataclass
class PolicyGate:
    """Checks the topics of one project's stacks; reads policies and YAML only once."""

    project: Project
    today: date | None = None
    """The day on which waivers are evaluated; today if None."""

    def __post_init__(self) -> None:
        self._declared: dict[str, dict[str, Topic]] = {}

    @cached_property
    def policy(self) -> Policy:
        """The project's policy."""
        return load_policy(self.project, self.today)

    def check_resource(self, stack: str, inputs: Mapping[str, Any]) -> list[RuleResult]:
        """Return the rule results of one topic; ``inputs`` are the properties of the resource, with Pulumi's names."""
        return [result for result in self._results([inputs], stack) if result.topic is not None]

    def check_stack(self, stack: str, resources: Iterable[Mapping[str, Any]]) -> list[RuleResult]:
        """Return the results of rules that apply to all topics of a stack together."""
        return [result for result in self._results(resources, stack) if result.topic is None]

    def problems(self) -> list[str]:
        """Return the errors in the policy files; with an unreadable policy file, nothing may pass."""
        return [str(problem) for problem in self.policy.problems if problem.level is Level.ERROR]

    def _results(self, resources: Iterable[Mapping[str, Any]], stack: str) -> Iterable[RuleResult]:
        topics = [self._topic(stack, inputs) for inputs in resources]
        return (result for result in judge_topics(topics, self.policy, stack) if result.waiver is None)

    def _topic(self, stack: str, inputs: Mapping[str, Any]) -> Topic:
        """Return the topic as it will be deployed; owner, contents and others come from the YAML."""
        name = str(inputs["name"])
        resource = Topic(name, int(inputs["partitions"]), int(inputs["replicationFactor"]))
        return replace(
            # Only `topicwarden rebalance` moves replicas, so Pulumi has the old replication factor until then.
            self._topics(stack).get(name, resource),
            partitions=resource.partitions,
            config={key: str(value) for key, value in sorted((inputs.get("config") or {}).items())},
        )

    def _topics(self, stack: str) -> dict[str, Topic]:
        if stack not in self._declared:
            loaded = load(self.project.topics, self.project.root, self.project.stack_names())
            declarations = resolve(loaded, stack).declarations
            self._declared[stack] = {declaration.topic.name: declaration.topic for declaration in declarations}
        return self._declared[stack]


def stack_of(urn: str) -> str:
    """Return the stack name of a URN, such as ``dev`` in ``urn:pulumi:dev::project::type::name``."""
    return urn.partition("::")[0].rpartition(":")[2]


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
