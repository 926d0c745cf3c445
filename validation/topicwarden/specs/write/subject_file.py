"""The text of a file below ``subjects/``: the subjects that are not a single topic's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.model.compatibility import Compatibility
from topicwarden.model.subject import SchemaReference
from topicwarden.specs.write.topic_access import flow

SUBJECTS: Final = "subjects"
"""The folder of a project that has these files."""
_WIDTH: Final = 120
_OTHERS: Final = "imported"
"""The name of the file for subjects whose names have no common part."""


@dataclass(frozen=True)
class SubjectEntry:
    """A subject in such a file. ``schema`` is the path of its schema, relative to the file."""

    name: str
    format: str
    schema: str
    compatibility: Compatibility | None = None
    references: tuple[SchemaReference, ...] = ()


def subject_file_text(entries: Iterable[SubjectEntry], comments: Iterable[str] = ()) -> str:
    """Return the text of a file with these subjects, in the order of their names."""
    lines = [*(f"# {comment}" for comment in comments), "subjects:"]
    for entry in sorted(entries, key=lambda each: each.name):
        lines += _lines(entry)
    return "".join(f"{line}\n" for line in lines)


def file_stem(subject: str) -> str:
    """Return the name of the file for a subject, without ``.yaml``: the namespace of a record such as ``com.acme``."""
    namespace = safe_name(subject.removesuffix(".proto").removesuffix(".json").rpartition(".")[0])
    return namespace or _OTHERS


def safe_name(name: str) -> str:
    """Return ``name`` as the name of a file that every system can have; empty if no character is left."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("._-")[:100]


def references_setting(references: Iterable[SchemaReference]) -> list[dict[str, Any]]:
    """Return references as ``references:`` has them in YAML."""
    return [
        {"name": each.name, "subject": each.subject} | ({} if each.version is None else {"version": each.version})
        for each in references
    ]


def _lines(entry: SubjectEntry) -> Iterator[str]:
    settings: Mapping[str, Any] = {
        "format": entry.format,
        "schema": entry.schema,
        **({"compatibility": str(entry.compatibility)} if entry.compatibility else {}),
        **({"references": references_setting(entry.references)} if entry.references else {}),
    }
    name = flow(entry.name)
    line = f"  {name}: {flow(settings)}"
    if len(line) <= _WIDTH:
        yield line
        return
    yield f"  {name}:"
    for key, value in settings.items():
        if isinstance(value, list):
            yield f"    {key}:"
            yield from (f"      - {flow(item)}" for item in value)
        else:
            yield f"    {key}: {flow(value)}"
