"""The values that a command of topicwarden and the program that it runs exchange.

A command runs ``stacks/__main__.py`` in its own process (``inline_program``). Plain `pulumi up` runs it in a process of
its own, and then no command is there to be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pulumi

from topicwarden.deploy.provider.adoption_gate import AdoptionGate
from topicwarden.deploy.pulumi_engine import PulumiEngine
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.planned_change import PlanReport, PlanSection
from topicwarden.model.problem import Refusal
from topicwarden.plan.engine_steps import ResourceNames
from topicwarden.plan.predicted_stack import PredictedStack

if TYPE_CHECKING:
    from topicwarden.policies.check_specs import CheckedStacks

ENDED_EARLY = (
    "the program ended before every topic was registered: topics that are not registered would be deleted, so nothing "
    "is deployed. Call `deploy()` last in stacks/__main__.py, without `sys.exit`"
)


class Refused(Refusal):
    """Raised for errors in the YAML, and for changes that no YAML allows; not for a cluster that does not answer."""


class PlanChanged(Refused):
    """Raised before anything is deployed, if the deploy would lose what the confirmed plan did not show."""

    def __init__(self, losses: Sequence[str]) -> None:
        super().__init__("\n".join(["the confirmed plan did not show these losses, so nothing was deployed:", *losses]))


class Purpose(StrEnum):
    """The command's purpose, which decides what stops the program."""

    DEPLOY = "deploy"
    """Errors in the YAML and refused changes stop the program."""
    PLAN = "plan"
    """The plan reports refused changes itself, so its preview shows every step."""
    ADOPT = "adopt"
    """An adoption does not change topics, so policies do not stop it."""


@dataclass(frozen=True)
class PlannedAdoption:
    """The limits of an adoption: it imports ``topics`` of the cluster ``live`` into the state ``deployed``."""

    topics: frozenset[str]
    live: Snapshot
    deployed: DeployedStack
    gate: AdoptionGate

    def require(self, deployed: DeployedStack, topics: Iterable[str]) -> None:
        """Refuse another state, and other topics to adopt, than the command has seen before it started the engine."""
        if deployed != self.deployed:
            raise Refusal("nothing was adopted: Pulumi's state has changed since the import began; import again")
        if others := self.topics.symmetric_difference(topics):
            raise Refusal(
                f"nothing was adopted: {', '.join(sorted(others))} changed since the import began; import again"
            )


@dataclass
class ProgramRun:
    """One run of the program: what the command asks for, and what the program reports.

    ``patterns`` are globs of the topics that a plan is about; empty for all. ``checked`` are the declarations, if the
    command has checked them already. ``confirmed`` is the plan that somebody has confirmed, and ``adoption`` what an
    adoption may do. ``refreshes``: the engine reads the cluster into the state first. The program sets ``prediction``,
    ``names``, those of the resources of access and of subjects, and ``refusal``, why it stopped. It adds to ``titles``
    what each resource of access that the deploy deletes is in words, by its name. ``judged`` is what ``program.judge``
    has found before the program began.
    """

    engine: PulumiEngine
    purpose: Purpose = Purpose.DEPLOY
    patterns: tuple[str, ...] = ()
    checked: CheckedStacks | None = None
    confirmed: PlanReport | None = None
    adoption: PlannedAdoption | None = None
    refreshes: bool = False
    prediction: PredictedStack | None = None
    names: Mapping[PlanSection, ResourceNames] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    refusal: Refusal | None = None
    judged: Any = None
    registering: bool = False
    """True if the program has sent its topics to the engine."""
    failed: bool = False
    """True if the program ended with an error."""
    _unknown: int = 1

    @property
    def concerns_access(self) -> bool:
        """False if the run is about some topics only: an adoption of topics, or a plan of those that match globs."""
        return self.purpose is not Purpose.ADOPT and not self.patterns

    def expect(self, *outputs: pulumi.Output[Any]) -> None:
        """Set the outputs that are known once the engine has registered the program's resources.

        ``Output.all`` would make an output of each value inside them, 14 for each topic.
        """
        self.registering, self._unknown = True, len(outputs)
        for output in outputs:
            output.apply(self._known)

    @property
    def complete(self) -> bool:
        """True if the program ended well, and the engine has registered every topic."""
        return not self._unknown and not self.failed

    def _known(self, _: object) -> None:
        self._unknown -= 1


_current: ProgramRun | None = None


@contextmanager
def running(run: ProgramRun) -> Iterator[None]:
    """Make ``run`` the run of the program that this process executes within the block, or until the next run begins.

    A program that ends after its engine must not end the run of the next one.
    """
    global _current  # noqa: PLW0603 - `deploy()` in a project's own file has no argument to receive it
    _current = run
    try:
        yield
    finally:
        if _current is run:
            _current = None


def current_run() -> ProgramRun | None:
    """Return the run that a command of topicwarden has started in this process; None under plain `pulumi`."""
    return _current
