"""The formats of an audit report, and the function that writes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from topicwarden.model.finding import AuditReport
from topicwarden.report.audit import html, json, junit, markdown, openmetrics, sarif
from topicwarden.report.audit.background import ReportBackground

Writer: TypeAlias = Callable[[AuditReport, ReportBackground], str]

FILES: Final[Mapping[str, Writer]] = {
    "report.html": html.render,
    "report.md": lambda report, _: markdown.render(report),
    "report.json": lambda report, _: json.render(report),
    "report.sarif": sarif.render,
    "report.xml": junit.render,
    "report.prom": openmetrics.render,
}
"""The files that ``--out`` writes."""

FORMATS: Final[Mapping[str, Writer]] = {
    "json": FILES["report.json"],
    "markdown": FILES["report.md"],
    "sarif": FILES["report.sarif"],
    "junit": FILES["report.xml"],
    "openmetrics": FILES["report.prom"],
}
"""The values of ``--format`` for standard output, in addition to ``text``."""
