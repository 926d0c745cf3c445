"""The text of a file below ``access/`` with the entries of all kinds, as far as YAML can declare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pydantic import ValidationError

from topicwarden.kinds.access_converter import AccessConverter, YamlEntry
from topicwarden.kinds.converters import CONVERTERS
from topicwarden.model.access import WILDCARD
from topicwarden.specs.access_model import AccessDocument
from topicwarden.specs.write.topic_access import OTHER_SPELLING, flow, yaml_key
from topicwarden.specs.write.yaml_values import yaml_scalar

Entries: TypeAlias = Mapping[str, Mapping[Any, Any]]
"""Values by part, such as ``users``, and by key."""


def access_file_text(entries: Entries, stack: str | None) -> tuple[str, list[str]]:
    """Return the text of a file below ``access/``, and why some access cannot be declared; empty text for none.

    The access is that of ``stack``, or of all stacks for None.
    """
    refused: list[str] = []
    lines = [line for kind in CONVERTERS for line in _lines(kind, entries.get(kind.part, {}), refused)]
    if stack is not None and lines:
        lines = ["stacks:", f"  {yaml_scalar(stack)}:", *(f"    {line}" for line in lines)]
    return "".join(f"{line}\n" for line in lines), refused


def _lines(kind: AccessConverter, entries: Mapping[Any, Any], refused: list[str]) -> Iterator[str]:
    sections: dict[str, list[str]] = {}
    for entry in kind.yaml(entries):
        if reason := entry.refused or _reason(entry):
            refused.append(reason)
        else:
            text = flow(entry.value)
            sections.setdefault(entry.key, []).append(f"{yaml_key(entry.name)}: {text}" if entry.name else f"- {text}")
    if sections:
        yield from kind.comment
    for key, lines in sections.items():
        yield f"{key}:"
        yield from (f"  {line}" for line in lines)


def _reason(entry: YamlEntry) -> str:
    """Return why the YAML of a file cannot have ``entry``, or would change it; empty if it can."""
    section = {entry.key: {entry.name: entry.value} if entry.name else [entry.value]}
    text = flow(section if entry.name else entry.value)
    try:
        read = AccessDocument.model_validate(section).model_dump()
    except ValidationError as error:
        return f"{text}: {error.errors(include_url=False)[0]['msg']}"
    if not entry.name and read[entry.key][0].get("host", WILDCARD) != entry.value.get("host", WILDCARD):
        return f"{text}: {OTHER_SPELLING}"
    return ""
