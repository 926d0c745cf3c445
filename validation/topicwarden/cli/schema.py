"""`topicwarden schema`: print JSON Schemas for editors and other programs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any

import typer

from topicwarden.model.problem import Refusal
from topicwarden.report import terminal_output

app = typer.Typer()


# Each function imports only the models that its schema needs.


def _topic() -> dict[str, Any]:
    from topicwarden.specs.editor_schema import spec_schema

    return spec_schema()


def _access() -> dict[str, Any]:
    from topicwarden.specs.editor_schema import access_schema

    return access_schema()


def _subject() -> dict[str, Any]:
    from topicwarden.specs.editor_schema import subject_schema

    return subject_schema()


def _policy() -> dict[str, Any]:
    from topicwarden.policies.policy_file import PolicyFile
    from topicwarden.policies.rules import ALL_RULES
    from topicwarden.specs.editor_schema import editor_schema

    schema = editor_schema(PolicyFile.model_json_schema(by_alias=True), "topicwarden policies")
    for name, rule in ALL_RULES.items():
        schema["$defs"]["RuleTable"]["properties"][name]["description"] = inspect.getdoc(rule)
    return schema


def _stack() -> dict[str, Any]:
    from topicwarden.specs.editor_schema import stack_schema

    return stack_schema()


def _report() -> dict[str, Any]:
    from topicwarden.model.finding import AuditReport
    from topicwarden.report.published_json import published_schema

    return published_schema(AuditReport, "report", "topicwarden audit report")


def _plan() -> dict[str, Any]:
    from topicwarden.model.planned_change import PlanReport
    from topicwarden.report.published_json import published_schema

    return published_schema(PlanReport, "plan", "topicwarden plan")


def _doctor() -> dict[str, Any]:
    from topicwarden.model.diagnosis import Diagnosis
    from topicwarden.report.published_json import published_schema

    return published_schema(Diagnosis, "doctor", "topicwarden doctor")


def _check() -> dict[str, Any]:
    from topicwarden.report.problems.json import CheckDocument
    from topicwarden.report.published_json import published_schema

    return published_schema(CheckDocument, "check", "topicwarden check report")


def _usage() -> dict[str, Any]:
    from topicwarden.model.usage_report import UsageReport
    from topicwarden.report.published_json import published_schema

    return published_schema(UsageReport, "usage", "topicwarden usage")


def _notification() -> dict[str, Any]:
    from topicwarden.operations.notices import notification

    return notification.schema()


def _fleet() -> dict[str, Any]:
    from topicwarden.report.fleet import FleetDocument
    from topicwarden.report.published_json import published_schema

    return published_schema(FleetDocument, "fleet", "topicwarden report on several stacks")


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "topic": _topic,
    "access": _access,
    "subject": _subject,
    "policy": _policy,
    "stack": _stack,
    "report": _report,
    "check": _check,
    "plan": _plan,
    "doctor": _doctor,
    "usage": _usage,
    "notification": _notification,
    "fleet": _fleet,
}


@app.command(epilog="Example: topicwarden schema topic > topic.schema.json")
def schema(
    name: Annotated[str, typer.Argument(metavar="WHAT", help=f"One of {', '.join(SCHEMAS)}.")] = "topic",
) -> int:
    """Print the JSON Schema of topic, policy or stack files, of report.json, or of the JSON output of a command."""
    if name not in SCHEMAS:
        raise Refusal(f"there is no schema {name!r}: expected one of {', '.join(SCHEMAS)}")
    terminal_output.write(json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n")
    return 0
