"""The rules, on what Pulumi is about to deploy: the last gate, which sees resources and no YAML lines."""

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
    """Judges the topics of one project's stacks; reads policies and YAML once each."""

    project: Project
    today: date | None = None
    """The day by which waivers run out; the day it is where None."""

    def __post_init__(self) -> None:
        self._declared: dict[str, dict[str, Topic]] = {}

    @cached_property
    def policy(self) -> Policy:
        return load_policy(self.project, self.today)

    def of_resource(self, stack: str, inputs: Mapping[str, Any]) -> list[RuleResult]:
        """What the rules say of one topic; ``inputs`` are the resource's, in Pulumi's names."""
        return [held for held in self._judged([inputs], stack) if held.topic is not None]

    def of_stack(self, stack: str, resources: Iterable[Mapping[str, Any]]) -> list[RuleResult]:
        """What the rules say of all topics of a stack together."""
        return [held for held in self._judged(resources, stack) if held.topic is None]

    def problems(self) -> list[str]:
        """What is wrong with the policy files: where they cannot be read, nothing passes."""
        return [str(problem) for problem in self.policy.problems if problem.level is Level.ERROR]

    def _judged(self, resources: Iterable[Mapping[str, Any]], stack: str) -> Iterable[RuleResult]:
        topics = [self._topic(stack, inputs) for inputs in resources]
        return (held for held in judge_topics(topics, self.policy, stack) if held.waiver is None)

    def _topic(self, stack: str, inputs: Mapping[str, Any]) -> Topic:
        """The topic as it is about to be deployed; owner, contents and the like are not in Pulumi, but in the YAML."""
        name = str(inputs["name"])
        seen = Topic(name, int(inputs["partitions"]), int(inputs["replicationFactor"]))
        return replace(
            # Replicas are moved by `topicwarden rebalance`: until then Pulumi has the factor of before.
            self._topics(stack).get(name, seen),
            partitions=seen.partitions,
            config={key: str(value) for key, value in sorted((inputs.get("config") or {}).items())},
        )

    def _topics(self, stack: str) -> dict[str, Topic]:
        if stack not in self._declared:
            loaded = load(self.project.topics, self.project.root, self.project.stack_names())
            declarations = resolve(loaded, stack).declarations
            self._declared[stack] = {held.topic.name: held.topic for held in declarations}
        return self._declared[stack]


def stack_of(urn: str) -> str:
    """The stack's name, with which every URN begins: ``urn:pulumi:dev::project::type::name``."""
    return urn.partition("::")[0].rpartition(":")[2]
