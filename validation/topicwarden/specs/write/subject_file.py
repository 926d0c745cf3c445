"""The texts of a file of subjects, and of the JSON of their schemas.

Only the white space of JSON changes: numbers, names, texts and their order stay as they are, so the schema has the same
canonical form. A ``.proto`` file stays as it is, with its comments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.model.compatibility import Compatibility
from topicwarden.model.subject import SchemaReference
from topicwarden.specs.record_schemas.json_text import parse
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


def subject_file_text(entries: Iterable[SubjectEntry]) -> str:
    """Return the text of a file with these subjects, in the order of their names."""
    lines = ["subjects:"]
    for entry in sorted(entries, key=lambda each: each.name):
        lines += _entry_lines(entry)
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


def _entry_lines(entry: SubjectEntry) -> Iterator[str]:
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


_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+)', re.DOTALL)
_SCHEMA_WIDTH: Final = 100
_INDENT: Final = "  "
_CLOSING: Final = {"{": "}", "[": "]"}
_MOST_NESTED: Final = 2
"""How deep a list or mapping on one line may be nested: a field of a record, with its type."""


@dataclass(frozen=True)
class _Container:
    """A list or mapping: its opening bracket, and each item with the text before it (a key, or nothing)."""

    bracket: str
    items: list[tuple[str, _Container | str]]
    line: str | None
    """The whole container on one line; None if it is too long or nested too deeply for one line."""
    depth: int


def readable(schema_format: str, text: str) -> str:
    """Return the text of a schema file with the schema ``text``. Raise JsonError if it is not the JSON that it must be.

    ``schema_format`` is ``avro``, ``json`` or ``protobuf``.
    """
    if schema_format == "protobuf":
        return text if text.endswith("\n") else f"{text}\n"
    parse(text)  # refuses what is not JSON or nested too deeply
    tokens = (match[1] for match in _TOKEN.finditer(text))
    return "".join(_schema_lines(_value(tokens, next(tokens)), "", "", expanded=True)) + "\n"


def _value(tokens: Iterator[str], token: str) -> _Container | str:
    """Return the value that begins with ``token``; the rest of it is taken from ``tokens``."""
    if token in _CLOSING:
        return _container(tokens, token)
    return _text(token) if token.startswith('"') else token


def _container(tokens: Iterator[str], bracket: str) -> _Container:
    items: list[tuple[str, _Container | str]] = []
    closing = _CLOSING[bracket]
    while (token := next(tokens)) != closing:
        if token == ",":
            continue
        key = ""
        if bracket == "{":
            key, token = f"{_text(token)}: ", (next(tokens), next(tokens))[1]
        items.append((key, _value(tokens, token)))
    depth = 1 + max((item.depth for _, item in items if isinstance(item, _Container)), default=0)
    return _Container(bracket, items, _one_line(bracket, items, depth), depth)


def _one_line(bracket: str, items: list[tuple[str, _Container | str]], depth: int) -> str | None:
    if depth > _MOST_NESTED:
        return None
    texts = [key + line for key, item in items if (line := item if isinstance(item, str) else item.line) is not None]
    line = bracket + ", ".join(texts) + _CLOSING[bracket]
    return line if len(texts) == len(items) and len(line) <= _SCHEMA_WIDTH else None


def _schema_lines(value: _Container | str, before: str, indent: str, *, expanded: bool = False) -> Iterator[str]:
    """Yield the text of a value after ``before``; ``expanded`` writes each item of the value on a line of its own."""
    if isinstance(value, str):
        yield before + value
        return
    fits = value.line is not None and len(indent) + len(before) + len(value.line) <= _SCHEMA_WIDTH
    if not value.items or (fits and not expanded):
        yield before + (value.line or "")
        return
    yield f"{before}{value.bracket}\n"
    inner = indent + _INDENT
    for number, (key, item) in enumerate(value.items, 1):
        yield inner
        yield from _schema_lines(item, key, inner)
        yield ",\n" if number < len(value.items) else "\n"
    yield indent + _CLOSING[value.bracket]


def _text(token: str) -> str:
    """Return a text with readable characters instead of escapes such as ``\\u00e9``."""
    text = json.loads(token, strict=False)
    return json.dumps(text, ensure_ascii=not text.isprintable())
