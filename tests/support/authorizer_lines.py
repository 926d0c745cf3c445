"""Lines of authorizer logs, from ``tests/unit/audit/cases/authorizer_log.yaml``, and decisions of whole lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from topicwarden.audit.authorizer_log.grammar import TIME, LoggedDecision, decision_in


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
