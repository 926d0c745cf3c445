"""Write the report of `topicwarden doctor` as JSON for programs, with a published JSON Schema."""

from __future__ import annotations

from typing import Any

from topicwarden.model.diagnosis import Diagnosis


def render(diagnosis: Diagnosis) -> str:
    """Return JSON as ASCII, which every console can print."""
    return diagnosis.model_dump_json(indent=2, ensure_ascii=True) + "\n"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output of ``render``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:topicwarden:doctor:1",
        **Diagnosis.model_json_schema(mode="serialization"),
        "title": "topicwarden doctor",
    }
