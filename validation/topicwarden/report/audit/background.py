"""What a report does not carry, and some of its formats need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from topicwarden.model.verdict import FailOn


@dataclass(frozen=True)
class ReportBackground:
    """The project's folder, the documentation of each check by its id (Markdown), and what fails an audit."""

    root: Path = field(default_factory=Path)
    checks: Mapping[str, str] = field(default_factory=dict)
    fail_on: FailOn = FailOn.FAIL

    def summary(self, check: str) -> str:
        """A check in one sentence of plain text; empty where its documentation is not to be had."""
        paragraph = " ".join(self.checks.get(check, "").partition("\n\n")[0].split())
        sentence, dot, _ = paragraph.partition(". ")
        return (sentence + dot.strip()).replace("``", "").replace("**", "")
