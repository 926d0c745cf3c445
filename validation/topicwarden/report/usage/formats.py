"""The formats of a usage report, the function that renders each, and the files that ``--out`` writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from topicwarden.model.usage_report import UsageReport
from topicwarden.report import markdown, page
from topicwarden.report.document import Medium
from topicwarden.report.published_json import json_text
from topicwarden.report.usage import openmetrics
from topicwarden.report.usage.document import document

UsageWriter: TypeAlias = Callable[[UsageReport], str]

FORMATS: Final[Mapping[str, UsageWriter]] = {
    "json": json_text,
    "markdown": lambda report: markdown.write(document(report, Medium.MARKDOWN)),
    "html": lambda report: page.write(document(report, Medium.PAGE)),
    "openmetrics": openmetrics.render,
}
"""The values of ``--format`` for standard output, in addition to ``text``."""

FILES: Final[Mapping[str, UsageWriter]] = {
    "usage.html": FORMATS["html"],
    "usage.md": FORMATS["markdown"],
    "usage.json": FORMATS["json"],
    "usage.prom": FORMATS["openmetrics"],
}


def contents(report: UsageReport) -> dict[str, str]:
    """Return the text of each report file, by its name."""
    return {name: render(report) for name, render in FILES.items()}
