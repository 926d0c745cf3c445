"""The lines in which two schemas differ, for people: both in the same readable form."""

from __future__ import annotations

import json
from difflib import unified_diff
from typing import Final

from topicwarden.model.message_text import first_lines
from topicwarden.model.subject import RegisteredSchema

_CONTEXT: Final = 2
_LONGEST: Final = 500_000
"""Characters of a schema that is still compared line by line."""
_MOST_LINES: Final = 400


def schema_difference(before: RegisteredSchema, after: RegisteredSchema) -> list[str]:
    """Return a unified diff of the two schemas without its header; JSON has one line for each short value."""
    if max(len(before.text), len(after.text)) > _LONGEST:
        return [f"(schemas of {len(before.text):,} and {len(after.text):,} characters are not compared line by line)"]
    lines = list(unified_diff(_lines(before), _lines(after), n=_CONTEXT, lineterm=""))[2:]
    return first_lines(lines, _MOST_LINES, "line")


def _lines(schema: RegisteredSchema) -> list[str]:
    if schema.format == "protobuf":
        return [line.rstrip() for line in schema.text.strip().splitlines()]
    try:
        return list(_json_lines(json.loads(schema.text), 100))
    except (ValueError, RecursionError):
        return schema.text.strip().splitlines()


def _json_lines(value: object, width: int, indent: str = "", prefix: str = "", suffix: str = "") -> list[str]:
    """Return ``value`` as JSON: on one line if it fits, else one line for each member, in their order."""
    short = json.dumps(value, ensure_ascii=False)
    line = f"{indent}{prefix}{short}{suffix}"
    if len(line) <= width or not isinstance(value, (dict, list)) or not value:
        return [line]
    entries = (
        [(f"{json.dumps(key, ensure_ascii=False)}: ", each) for key, each in value.items()]
        if isinstance(value, dict)
        else [("", each) for each in value]
    )
    first, last = "{}" if isinstance(value, dict) else "[]"
    lines = [f"{indent}{prefix}{first}"]
    for number, (key, each) in enumerate(entries, 1):
        lines += _json_lines(each, width, f"{indent}  ", key, "," if number < len(entries) else "")
    return [*lines, f"{indent}{last}{suffix}"]
