"""Reports as JSON for programs, and the JSON Schemas that are published for them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from topicwarden.report.display import printable


def json_text(report: BaseModel, *, ascii_only: bool = False) -> str:
    """Return ``report`` as indented JSON. The escapes of ``printable`` are those of JSON: programs read the same text.

    With ``ascii_only``, every console can print it.
    """
    return printable(report.model_dump_json(indent=2, ensure_ascii=ascii_only)) + "\n"


def published_schema(model: type[BaseModel], name: str, title: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a report. Its version changes if programs that read it must change."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:topicwarden:{name}:1",
        **model.model_json_schema(mode="serialization"),
        "title": title,
    }
