"""The project for which the provider works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from topicwarden.deploy.intent_log import Intent, intent_log
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_project import runs_topicwarden
from topicwarden.deploy.stack_state import SET_TYPE, deployed_stack
from topicwarden.model.problem import Location, Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.plan.deployed_stack import DeployedStack
from topicwarden.specs.load import load
from topicwarden.specs.resolve import resolve


@dataclass(frozen=True)
class ProviderHome:
    """The project; None if another program than topicwarden's uses the provider.

    ``variables`` are added to the environment of ``pulumi``, which reads the state.
    """

    project: Project | None
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> ProviderHome:
        """Return the project of the working directory, in which Pulumi starts the provider."""
        try:
            return cls(find_project(Path.cwd()))
        except Refusal:
            return cls(None)

    @property
    def root(self) -> Project:
        """The project, or the working directory of another program, below which relative paths of settings are."""
        return self.project or Project(Path.cwd())

    def recorded_state(self, stack: str) -> DeployedStack | None:
        """Return Pulumi's state of ``stack``; None if no program of topicwarden deploys it.

        The state of a project of topicwarden need not show that: `pulumi state move` may have taken all that it has,
        before `pulumi import` brought a topic. Raises Refusal if the state cannot be read.
        """
        if self.project is None:
            return None
        resources = PulumiEngine(self.project, stack, self.variables).resources()
        ours = runs_topicwarden(self.project) or any(resource["type"] == SET_TYPE for resource in resources)
        return deployed_stack(resources) if ours else None

    def announce(self, stack: str, intent: Intent, topics: list[str]) -> None:
        """Record what is about to be sent, for a program of topicwarden; other programs have no record."""
        if self.project is not None:
            intent_log(self.project, stack).write(intent, topics)

    def locations(self, stack: str) -> Mapping[str, Location]:
        """Return where each topic of ``stack`` is declared."""
        if self.project is None:
            return {}
        loaded = load(self.project.topics, self.project.root, self.project.stack_names())
        return {each.topic.name: each.locations.at(()) for each in resolve(loaded, stack).declarations}
