"""Write the report files of an audit."""

from __future__ import annotations

from pathlib import Path

from topicwarden.model.finding import AuditReport
from topicwarden.report.audit.background import ReportBackground
from topicwarden.report.audit.formats import FILES
from topicwarden.report.output_folder import write_files


def write(report: AuditReport, directory: Path, background: ReportBackground | None = None) -> list[Path]:
    """Write ``FILES`` to ``directory``; return their paths. See ``write_files``."""
    return write_files(directory, contents(report, background))


def contents(report: AuditReport, background: ReportBackground | None = None) -> dict[str, str]:
    """Return the text of each report file, by its name."""
    return {name: render(report, background or ReportBackground()) for name, render in FILES.items()}
