"""`topicwarden schema`: what editors and other programs check by."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from topicwarden.problem import Refusal
from topicwarden.report import json as report_json
from topicwarden.specs.schema import spec_schema

SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {"topic": spec_schema, "report": report_json.schema}


def schema(what: str) -> int:
    """Prints a JSON Schema; refuses an unknown name."""
    if what not in SCHEMAS:
        raise Refusal(f"there is no schema {what!r}: expected one of {', '.join(SCHEMAS)}")
    print(json.dumps(SCHEMAS[what](), indent=2, ensure_ascii=False))
    return 0
