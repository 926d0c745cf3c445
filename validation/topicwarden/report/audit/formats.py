"""The formats of an audit report, the function that renders each, and the files that an audit writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from topicwarden.model.finding import AuditReport
from topicwarden.report import markdown, page
from topicwarden.report.audit import junit, openmetrics, sarif
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.digest import ordered
from topicwarden.report.audit.document import document
from topicwarden.report.document import Medium
from topicwarden.report.output_folder import write_files
from topicwarden.report.published_json import json_text
from topicwarden.report.usage.document import document as usage_document

Writer: TypeAlias = Callable[[AuditReport, ReportBackground], str]


def json(report: AuditReport) -> str:
    """Return JSON in a stable order, with a published JSON Schema."""
    return json_text(ordered(report))


def html(report: AuditReport, background: ReportBackground | None = None) -> str:
    """Return the page of an audit."""
    return page.write(document(report, Medium.PAGE, background))


FILES: Final[Mapping[str, Writer]] = {
    "report.html": html,
    "report.md": lambda report, _: markdown.write(document(report, Medium.MARKDOWN), None),
    "report.json": lambda report, _: json(report),
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


def write(report: AuditReport, directory: Path, background: ReportBackground | None = None) -> list[Path]:
    """Write ``FILES`` to ``directory``; return their paths. See ``write_files``."""
    return write_files(directory, contents(report, background))


def contents(report: AuditReport, background: ReportBackground | None = None) -> dict[str, str]:
    """Return the text of each report file, by its name; with ``usage.html`` if the report has the use of topics."""
    files = {name: render(report, background or ReportBackground()) for name, render in FILES.items()}
    if report.usage is None:
        return files
    return {**files, "usage.html": page.write(usage_document(report.usage, Medium.PAGE, "report.html"))}
