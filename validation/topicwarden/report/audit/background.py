"""Information that some formats need in addition to the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from topicwarden.model.verdict import FailOn


@dataclass(frozen=True)
class ReportBackground:
    """``root``: the project's folder. ``checks``: the documentation of each check by its id, in Markdown.

    ``fail_on``: the verdicts that fail an audit.
    """

    root: Path = field(default_factory=Path)
    checks: Mapping[str, str] = field(default_factory=dict)
    fail_on: FailOn = FailOn.FAIL

    def summary(self, check: str) -> str:
        """Return the first sentence of a check's documentation as plain text; empty without documentation."""
        paragraph = " ".join(self.checks.get(check, "").partition("\n\n")[0].split())
        sentence, dot, _ = paragraph.partition(". ")
        return (sentence + dot.strip()).replace("``", "").replace("**", "")
