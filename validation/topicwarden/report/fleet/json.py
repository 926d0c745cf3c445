"""Write the report of a command on several stacks as JSON for programs, with a published JSON Schema."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.fleet_report import FleetReport, StackDifference, StackOutcome
from topicwarden.report.problems.json import CheckDocument
from topicwarden.report.published_json import json_text


class FleetDocument(StrictModel):
    """The output of a command with `--all-stacks`, or with several `--stack`, and `--format json`."""

    version: Literal[1] = Field(default=1, description="It changes if programs that read this must change.")
    command: Literal["check", "plan", "audit", "usage"]
    exit_code: int = Field(description="The worst of all stacks: 2 before 1 before 3 before 0.")
    stacks: list[StackOutcome] = Field(description="The results, in the order of the stacks.")
    differences: list[StackDifference] = Field(
        description="What is not the same on all stacks, sorted by kind, name and values."
    )
    check: CheckDocument | None = Field(default=None, description="The problems of all stacks; null unless `check`.")


def render(report: FleetReport, check: CheckDocument | None = None) -> str:
    """Return JSON in a stable order, so that two reports can be compared. ``check`` has the problems of a check."""
    document = FleetDocument.model_validate(
        {
            "command": report.command,
            "exit_code": report.exit_code,
            "stacks": list(report.stacks),
            "differences": list(report.differences),
            "check": check,
        }
    )
    return json_text(document)
