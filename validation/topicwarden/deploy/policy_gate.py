"""Checks the policies on the resources that Pulumi is about to deploy: the last check, without YAML positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

from topicwarden.model.problem import Level
from topicwarden.model.project import Project
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
