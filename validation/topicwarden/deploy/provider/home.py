"""The project for which the provider works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from topicwarden.deploy.access_state import resource_locations
from topicwarden.deploy.intent_log import intent_log
from topicwarden.deploy.provider.adoption_gate import AdoptionGate
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.deploy.pulumi_project import runs_topicwarden
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.kafka.connect.stack_connection import registry_of
from topicwarden.kinds.announced_writes import Intent
from topicwarden.kinds.subject.resource import subject_locations
from topicwarden.kinds.topic.resource import SET_TYPE
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import PlanSection
from topicwarden.model.problem import Location, Refusal
from topicwarden.model.project import Project, find_project
from topicwarden.specs.declared_stack import declared_stack
from topicwarden.specs.stacks.registry_settings import RegistrySettings


@dataclass(frozen=True)
class ProviderHome:
    """The project; None if another program than topicwarden's uses the provider.

    ``variables`` are added to the environment of ``pulumi``, which reads the state. ``judged``: the command has
    predicted who loses access, although it runs no program. ``adoption``: the command only adopts topics, so the
    provider writes nothing.
    """

    project: Project | None
    variables: Mapping[str, str] = field(default_factory=dict)
    judged: bool = False
    adoption: AdoptionGate | None = None

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

    def registry(self, stack: str) -> RegistrySettings | None:
        """Return the Schema Registry of ``stack``; None if the project or the stack names none."""
        return None if self.project is None else registry_of(self.project, stack, self.variables)

    def announce(self, stack: str, section: PlanSection, intent: Intent, names: list[str]) -> None:
        """Record what is about to be sent, for a program of topicwarden; other programs have no record."""
        if self.project is not None:
            intent_log(self.project, stack, section).write(intent, names)

    def locations(self, stack: str) -> Mapping[str, Location]:
        """Return where each topic, subject and part of the access of ``stack`` is declared, by the resource's name."""
        if self.project is None:
            return {}
        declared = declared_stack(self.project, stack)
        topics = {each.topic.name: each.locations.at(()) for each in declared.declarations}
        return topics | resource_locations(declared.access) | subject_locations(declared.subjects)
