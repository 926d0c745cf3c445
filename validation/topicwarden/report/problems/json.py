"""Problems as JSON for programs, and its published JSON Schema."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from topicwarden.model.problem import Level, Problem
from topicwarden.report.problems.digest import ProblemDigest


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemEntry(_Part):
    """One problem."""

    file: str = Field(description="The file, relative to the project, with slashes.")
    line: int = Field(ge=1, description="The line, from 1.")
    column: int = Field(ge=1, description="The column, from 1, in characters.")
    level: Level = Field(description="An error fails the check, a warning does not.")
    rule: str = Field(description="The rule's id, as `topicwarden rules` lists it.")
    message: str = Field(description="What is wrong, what was expected, and what to do.")


class CheckReport(_Part):
    """What `topicwarden check --format json` prints."""

    version: Literal[1] = Field(default=1, description="Changes when a program that reads this has to.")
    topics: int = Field(description="How many topics were looked at.")
    files: int = Field(description="How many files were looked at.")
    errors: int
    warnings: int
    problems: list[ProblemEntry] = Field(description="In the order of files, lines and columns.")


def render(page: ProblemDigest) -> str:
    """Every problem, in order; ASCII alone, so that it survives any console."""
    report = CheckReport(
        topics=page.topics,
        files=len(page.files),
        errors=page.errors,
        warnings=page.warnings,
        problems=[_entry(problem) for problem in page.problems],
    )
    return report.model_dump_json(indent=2, ensure_ascii=True) + "\n"


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what ``render`` writes."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:topicwarden:check:1",
        **CheckReport.model_json_schema(mode="serialization"),
        "title": "topicwarden check report",
    }


def _entry(problem: Problem) -> ProblemEntry:
    place = problem.location
    return ProblemEntry(
        file=place.file,
        line=place.line,
        column=place.column,
        level=problem.level,
        rule=problem.rule,
        message=problem.message,
    )
