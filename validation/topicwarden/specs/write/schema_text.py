"""Write a schema as readable text, without changing what it says.

Only the white space of JSON changes: numbers, names, texts and their order stay as they are, so the schema has the same
canonical form. A ``.proto`` file stays as it is, with its comments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from topicwarden.specs.record_schemas.json_text import parse

_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+)', re.DOTALL)
_WIDTH: Final = 100
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
    return "".join(_lines(_value(tokens, next(tokens)), "", "", expanded=True)) + "\n"


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
    return line if len(texts) == len(items) and len(line) <= _WIDTH else None


def _lines(value: _Container | str, before: str, indent: str, *, expanded: bool = False) -> Iterator[str]:
    """Yield the text of a value after ``before``; ``expanded`` writes each item of the value on a line of its own."""
    if isinstance(value, str):
        yield before + value
        return
    fits = value.line is not None and len(indent) + len(before) + len(value.line) <= _WIDTH
    if not value.items or (fits and not expanded):
        yield before + (value.line or "")
        return
    yield f"{before}{value.bracket}\n"
    inner = indent + _INDENT
    for number, (key, item) in enumerate(value.items, 1):
        yield inner
        yield from _lines(item, key, inner)
        yield ",\n" if number < len(value.items) else "\n"
    yield indent + _CLOSING[value.bracket]


def _text(token: str) -> str:
    """Return a text with readable characters instead of escapes such as ``\\u00e9``."""
    text = json.loads(token, strict=False)
    return json.dumps(text, ensure_ascii=not text.isprintable())
