"""The formats of an audit's report, in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from topicwarden.model.finding import AuditReport
from topicwarden.report.audit import html, json, junit, markdown, sarif
from topicwarden.report.audit.background import ReportBackground

Writer: TypeAlias = Callable[[AuditReport, ReportBackground], str]

FILES: Final[Mapping[str, Writer]] = {
    "report.html": html.render,
    "report.md": lambda report, _: markdown.render(report),
    "report.json": lambda report, _: json.render(report),
    "report.sarif": sarif.render,
    "report.xml": junit.render,
}
"""What ``--out`` writes, and who writes it."""

FORMATS: Final[Mapping[str, Writer]] = {
    "json": FILES["report.json"],
    "markdown": FILES["report.md"],
    "sarif": FILES["report.sarif"],
    "junit": FILES["report.xml"],
}
"""What standard output may carry instead of the terminal's text."""
