"""The report of one command on several stacks: the result on each stack, and what differs between the stacks.

These models are parts of the published schema of its JSON (``topicwarden schema fleet``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.finding import AuditReport
from topicwarden.model.planned_change import PlanReport
from topicwarden.model.usage_report import UsageReport

COULD_NOT_RUN: Final = 2
"""The exit code of a command that could not run on a stack, so that its report is incomplete."""
_WORST_FIRST: Final = (COULD_NOT_RUN, 1, 3, 0)


class DifferenceKind(StrEnum):
    """The subject of a difference: verdicts of an audit, changes of a plan, or settings in the YAML."""

    VERDICT = "verdict"
    CHANGE = "change"
    SETTING = "setting"


class StackDifference(StrictModel):
    """A value that is not the same on all stacks, and all topics that have exactly these values."""

    kind: DifferenceKind
    name: str = Field(description="The check; the setting, by its path in the YAML; or `change`.")
    values: dict[str, str | None] = Field(
        description="The value by stack: the worst verdict of the check, the action of the deploy, or the setting. "
        "Null if there is none. A stack that could not be read is left out."
    )
    topics: list[str] = Field(description="The topics with these values, sorted.")


class StackOutcome(StrictModel):
    """The result of the command on one stack."""

    stack: str
    exit_code: int = Field(description="The exit code of the command on this stack alone; 2 if it could not run.")
    summary: str = Field(description="The summary of its report, or the reason why the command could not run.")
    report: PlanReport | AuditReport | UsageReport | None = Field(
        default=None,
        description="The whole report of this stack; null for `check`, and if the command could not run.",
    )

    @property
    def ran(self) -> bool:
        """True if the command could run on this stack."""
        return self.exit_code != COULD_NOT_RUN


@dataclass(frozen=True)
class FleetReport:
    """One run of ``command`` on several stacks, with the results in the order of the stacks."""

    command: str
    stacks: Sequence[StackOutcome]
    differences: Sequence[StackDifference]

    @property
    def exit_code(self) -> int:
        """The worst exit code; see ``worst_code``."""
        return worst_code(outcome.exit_code for outcome in self.stacks)


def worst_code(codes: Iterable[int]) -> int:
    """Return the exit code for all stacks: 2 before 1 before 3 before 0, as `grep` and `diff` let trouble win.

    With 2, the report is incomplete, and says nothing about some of the stacks.
    """
    found = set(codes)
    return next((code for code in _WORST_FIRST if code in found), 0)
