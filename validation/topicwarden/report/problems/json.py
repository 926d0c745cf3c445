"""Write problems as JSON for programs, with a published JSON Schema."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from pydantic import Field

from topicwarden.model.field_types import StrictModel
from topicwarden.model.problem import Level
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.report.published_json import json_text


class ProblemEntry(StrictModel):
    """One problem."""

    file: str = Field(description="The file, relative to the project, with forward slashes.")
    line: int = Field(ge=1, description="The line, from 1.")
    column: int = Field(ge=1, description="The column, from 1, in characters.")
    level: Level = Field(description="An error fails the check; a warning does not.")
    rule: str = Field(description="The rule's id, as in `topicwarden rules`.")
    message: str = Field(description="What is wrong, what was expected, and what to do.")


class CheckDocument(StrictModel):
    """The output of `topicwarden check --format json`."""

    version: Literal[1] = Field(default=1, description="It changes if programs that read this must change.")
    topics: int = Field(description="Number of checked topics.")
    files: int = Field(description="Number of checked files.")
    errors: int
    warnings: int
    problems: list[ProblemEntry] = Field(description="Sorted by file, line and column.")


def render(page: ProblemDigest) -> str:
    """Return all problems in order, as ASCII, which every console can print."""
    return json_text(document(page), ascii_only=True)


def document(page: ProblemDigest) -> CheckDocument:
    """Return all problems in order, as the model of the published schema."""
    return CheckDocument(
        topics=page.topics,
        files=len(page.files),
        errors=page.errors,
        warnings=page.warnings,
        problems=[
            ProblemEntry(**asdict(each.location), level=each.level, rule=each.rule, message=each.message)
            for each in page.problems
        ],
    )
