"""Write the report about the use of topics as JSON for programs, with a published JSON Schema."""

from __future__ import annotations

from typing import Any

from topicwarden.model.usage_report import UsageReport
from topicwarden.report.display import printable


def render(report: UsageReport) -> str:
    """Return JSON in the order of the report, so that two reports can be compared."""
    # The escapes of `printable` are those of JSON, so programs read the same text.
    return printable(report.model_dump_json(indent=2)) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output of ``render``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:topicwarden:usage:1",
        **UsageReport.model_json_schema(mode="serialization"),
        "title": "topicwarden usage",
    }
