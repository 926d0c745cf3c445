"""Lines of authorizer logs, from ``tests/unit/audit/cases/authorizer_log.yaml``, and the decisions in lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from topicwarden.audit.authorizer_log.grammar import DECISION, TIME, operation_of, resource_of, uniform_rule
from topicwarden.model.access import Operation, Resource


@dataclass(frozen=True)
class LoggedDecision:
    """The decision of one line, without its time. ``zone`` is the text of its time zone, empty if it has none.

    ``effective`` is false if nobody was granted or refused anything: brokers log such answers at TRACE only. ``rule``
    is empty in lines of ``AclAuthorizer``.
    """

    zone: str
    effective: bool
    principal: str
    host: str
    operation: Operation
    resource: Resource
    allowed: bool
    request: str
    rule: str


def decision_in(text: str) -> LoggedDecision | None:
    """Return the decision in the rest of a line after its time; None if the line is no decision, or ambiguous."""
    match = re.match(DECISION, text)
    if match is None:
        return None
    zone, level, principal, result, operation, host, kind, name, request, references, rule = match.groups(default="")
    return LoggedDecision(
        zone,
        level != "TRACE",
        principal,
        host,
        operation_of(operation),
        resource_of(kind, name, references),
        result == "Allowed",
        request,
        uniform_rule(rule),
    )


def decision_in_line(line: str) -> tuple[str, LoggedDecision] | None:
    """Return the time of a line, without fractions of a second, and its decision; None as ``decision_in``."""
    match = re.match(TIME, line)
    decision = decision_in(match[2]) if match else None
    return (match[1], decision) if match and decision else None


_CASES: Final[dict[str, dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parents[1] / "unit" / "audit" / "cases" / "authorizer_log.yaml").read_text(encoding="utf-8")
)


@dataclass(frozen=True)
class ReadableLine:
    """A line, and what it says: ``expected`` as in the file, and the text of its time zone."""

    name: str
    line: str
    expected: list[str]
    zone: str = ""


READABLE: Final = [ReadableLine(name, **case) for name, case in _CASES["readable"].items()]
EXPLANATIONS: Final[dict[str, str]] = _CASES["explanations"]
UNREADABLE: Final[dict[str, str]] = _CASES["unreadable"]
