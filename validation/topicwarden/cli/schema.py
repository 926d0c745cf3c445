"""`topicwarden schema`: print JSON Schemas for editors and other programs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from topicwarden.model.problem import Refusal
from topicwarden.report import terminal_output

if TYPE_CHECKING:
    from pydantic import BaseModel

app = typer.Typer()


def _of_files(name: str) -> dict[str, Any]:
    """Return the JSON Schema of files that people write."""
    from topicwarden.specs import editor_schema

    return {
        "topic": editor_schema.spec_schema,
        "access": editor_schema.access_schema,
        "subject": editor_schema.subject_schema,
        "stack": editor_schema.stack_schema,
    }[name]()


def _policy() -> dict[str, Any]:
    from topicwarden.policies.policy_file import PolicyFile
    from topicwarden.policies.rules import ALL_RULES
    from topicwarden.specs.editor_schema import editor_schema

    schema = editor_schema(PolicyFile.model_json_schema(by_alias=True), "topicwarden policies")
    for name, rule in ALL_RULES.items():
        schema["$defs"]["RuleTable"]["properties"][name]["description"] = inspect.getdoc(rule)
    return schema


def _of_report(name: str) -> dict[str, Any]:
    """Return the JSON Schema of the JSON that a command prints."""
    from topicwarden.model.diagnosis import Diagnosis
    from topicwarden.model.finding import AuditReport
    from topicwarden.model.planned_change import PlanReport
    from topicwarden.model.usage_report import UsageReport
    from topicwarden.report.fleet import FleetDocument
    from topicwarden.report.problems.json import CheckDocument
    from topicwarden.report.published_json import published_schema

    reports: dict[str, tuple[type[BaseModel], str]] = {
        "report": (AuditReport, "topicwarden audit report"),
        "check": (CheckDocument, "topicwarden check report"),
        "plan": (PlanReport, "topicwarden plan"),
        "doctor": (Diagnosis, "topicwarden doctor"),
        "usage": (UsageReport, "topicwarden usage"),
        "fleet": (FleetDocument, "topicwarden report on several stacks"),
    }
    model, title = reports[name]
    return published_schema(model, name, title)


def _notification() -> dict[str, Any]:
    from topicwarden.operations.notices import notification

    return notification.schema()


SCHEMAS: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "topic": partial(_of_files, "topic"),
    "access": partial(_of_files, "access"),
    "subject": partial(_of_files, "subject"),
    "policy": _policy,
    "stack": partial(_of_files, "stack"),
    **{name: partial(_of_report, name) for name in ("report", "check", "plan", "doctor", "usage")},
    "notification": _notification,
    "fleet": partial(_of_report, "fleet"),
}
"""The functions that return the schemas, by name. Each imports what its schema needs."""


@app.command(epilog="Example: topicwarden schema topic > topic.schema.json")
def schema(
    name: Annotated[str, typer.Argument(metavar="WHAT", help=f"One of {', '.join(SCHEMAS)}.")] = "topic",
) -> int:
    """Print the JSON Schema of topic, policy or stack files, of report.json, or of the JSON output of a command."""
    if name not in SCHEMAS:
        raise Refusal(f"there is no schema {name!r}: expected one of {', '.join(SCHEMAS)}")
    terminal_output.write(json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n")
    return 0
