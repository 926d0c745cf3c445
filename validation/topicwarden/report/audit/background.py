"""Information that some formats need in addition to the report."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from topicwarden.model.finding import Finding
from topicwarden.model.verdict import FailOn
from topicwarden.report.display import first_sentence, one_line


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
        return first_sentence(self.checks.get(check, "")).replace("``", "").replace("**", "")

    def confirmation(self, finding: Finding) -> str:
        """Return how to confirm a finding with Kafka's own tools, with its topic, partition, offset and group.

        Commands are in backticks.
        """
        paragraphs = self.checks.get(finding.check, "").split("\n\n")
        text = next((each.removeprefix("Confirm:") for each in paragraphs if each.startswith("Confirm:")), "")
        partition = finding.evidence.get("partition", next(iter(finding.partitions), None))
        values = {"topic": finding.topic, "partition": partition, "offset": finding.evidence.get("offset")}
        values["group"] = finding.evidence.get("group")
        for name, value in values.items():
            if value is not None:
                shown = shlex.quote(one_line(str(value))).replace("`", "\\x60")
                for end in (" ", "`", "\n"):
                    text = text.replace(f"--{name} {name[0].upper()}{end}", f"--{name} {shown}{end}")
        return " ".join(text.split()).replace("``", "`")
