"""Decisions of whole lines of an authorizer log, which Spark splits at the time in the audit."""

from __future__ import annotations

import re

from topicwarden.audit.authorizer_log.grammar import TIME, LoggedDecision, decision_in


def decision_in_line(line: str) -> tuple[str, LoggedDecision] | None:
    """Return the time of a line, without fractions of a second, and its decision; None as ``decision_in``."""
    match = re.match(TIME, line)
    decision = decision_in(match[2]) if match else None
    return (match[1], decision) if match and decision else None
