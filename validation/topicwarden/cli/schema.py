"""`topicwarden schema`: print JSON Schemas for editors and other programs."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from topicwarden.model.problem import Refusal
from topicwarden.report import terminal_output
from topicwarden.report.published_json import published_schema


def schema(name: str) -> int:
    """Print the JSON Schema ``name``. Raises Refusal if there is no such schema."""
    if name not in SCHEMAS:
        raise Refusal(f"there is no schema {name!r}: expected one of {', '.join(SCHEMAS)}")
    terminal_output.write(json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n")
    return 0


# Each function imports only the models that its schema needs.


def _topic() -> dict[str, Any]:
    from topicwarden.specs.editor_schema import spec_schema  # noqa: PLC0415

    return spec_schema()


def _access() -> dict[str, Any]:
    from topicwarden.specs.editor_schema import access_schema  # noqa: PLC0415

    return access_schema()


def _subject() -> dict[str, Any]:
    from topicwarden.specs.editor_schema import subject_schema  # noqa: PLC0415

    return subject_schema()


def _policy() -> dict[str, Any]:
    from topicwarden.policies.policy_file import PolicyFile  # noqa: PLC0415
    from topicwarden.policies.rules import ALL_RULES  # noqa: PLC0415
    from topicwarden.specs.editor_schema import editor_schema  # noqa: PLC0415

    schema = editor_schema(PolicyFile.model_json_schema(by_alias=True), "topicwarden policies")
    for name, rule in ALL_RULES.items():
        schema["$defs"]["RuleTable"]["properties"][name]["description"] = inspect.getdoc(rule)
    return schema


def _stack() -> dict[str, Any]:
    from topicwarden.specs.stacks.stack_schema import stack_schema  # noqa: PLC0415

    return stack_schema()


def _report() -> dict[str, Any]:
    from topicwarden.model.finding import AuditReport  # noqa: PLC0415

    return published_schema(AuditReport, "report", "topicwarden audit report")


def _plan() -> dict[str, Any]:
    from topicwarden.model.planned_change import PlanReport  # noqa: PLC0415

    return published_schema(PlanReport, "plan", "topicwarden plan")


def _doctor() -> dict[str, Any]:
    from topicwarden.model.diagnosis import Diagnosis  # noqa: PLC0415

    return published_schema(Diagnosis, "doctor", "topicwarden doctor")


def _check() -> dict[str, Any]:
    from topicwarden.report.problems.json import CheckDocument  # noqa: PLC0415

    return published_schema(CheckDocument, "check", "topicwarden check report")


def _usage() -> dict[str, Any]:
    from topicwarden.model.usage_report import UsageReport  # noqa: PLC0415

    return published_schema(UsageReport, "usage", "topicwarden usage")


def _notification() -> dict[str, Any]:
    from topicwarden.operations.notices import notification  # noqa: PLC0415

    return notification.schema()


def _fleet() -> dict[str, Any]:
    from topicwarden.report.fleet.json import FleetDocument  # noqa: PLC0415

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
