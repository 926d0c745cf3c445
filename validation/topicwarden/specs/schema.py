"""The JSON Schema of a topic's YAML, so that editors complete and check as one types."""

from __future__ import annotations

from typing import Any

from topicwarden.specs.model import Spec


def spec_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of one document; ``config`` lists Kafka's names with Kafka's documentation."""
    schema = Spec.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema | {"title": "Kafka topic"}
