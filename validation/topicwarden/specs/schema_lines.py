"""Find the line of a schema file that a path in the schema means."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from topicwarden.model.problem import Location
from topicwarden.model.subject import Incompatibility
from topicwarden.specs.yaml_nodes import ParsedDocument, read_documents

_MAX_CHARACTERS: Final = 1 << 20
"""Larger schemas are not searched, because parsing them for a line takes seconds."""
_RENAMED: Final = {"allItemSchema": "items", "itemSchemas": "items", "schemaOfAdditionalItems": "additionalProperties"}
"""Names of Apicurio's checker for keywords of JSON Schema."""
_TOKEN: Final = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\b(?:message|enum|service|group)\s+\w+|[{}]", re.DOTALL
)


def schema_line(file: str, form: str, new: str, earlier: str, found: Incompatibility) -> Location:
    """Return the location in the schema ``new`` of an incompatibility with ``earlier``.

    ``file`` is the path for the location, ``form`` the format. If the path is in ``earlier``, the location is that of
    the same part of ``new``; fields are matched by name. If there is no such part, the nearest one around it.
    """
    if max(len(new), len(earlier)) > _MAX_CHARACTERS:
        return Location(file)
    if form == "protobuf":
        return _proto_line(file, new, found)
    document = _parsed(new, file)
    if document is None:
        return Location(file)
    own = None if found.backward else _parsed(earlier, file)
    return document.at(tuple(_steps(document.value, own.value if own else document.value, found.path)))


def _parsed(text: str, file: str) -> ParsedDocument | None:
    documents, _ = read_documents(text.encode(errors="replace"), file)
    return documents[0] if documents else None


def _steps(new: Any, own: Any, path: str) -> Iterator[str | int]:
    """Yield the keys and indices in ``new`` for a JSON pointer into ``own``, as far as ``new`` has them."""
    parts = [part for part in path.split("/") if part]
    while parts:
        if isinstance(own, list) and isinstance(new, list):
            index = int(parts.pop(0)) if parts[0].isdecimal() else len(own)
            if index >= len(own):
                return
            own, at = own[index], _counterpart(own[index], new, index)
            if at is None:
                return
            new = new[at]
            yield at
        elif isinstance(own, dict) and isinstance(new, dict):
            key = _key(own, parts)
            if key is None or key not in new:
                return
            own, new = own[key], new[key]
            yield key
        else:
            return


def _counterpart(item: Any, items: list[Any], index: int) -> int | None:
    """Return the index of ``item`` in ``items``: by its ``name`` if it has one, else ``index`` if there is one."""
    if isinstance(item, dict) and "name" in item:
        names = [each.get("name") if isinstance(each, dict) else None for each in items]
        return names.index(item["name"]) if item["name"] in names else None
    return index if index < len(items) else None


def _key(mapping: dict[str, Any], parts: list[str]) -> str | None:
    """Remove the parts of the next key of ``mapping`` from ``parts``, and return it. A key may contain ``/``."""
    for length in range(1, len(parts) + 1):
        key = "/".join(parts[:length])
        key = key if key in mapping else _RENAMED.get(key, key)
        if key in mapping:
            del parts[:length]
            return key
    return None


def _proto_line(file: str, text: str, found: Incompatibility) -> Location:
    """Return the line of the message in the path, or of a field in it that the message names."""
    names = found.path.strip("/").split(".")
    start, end = next((span for path, span in _blocks(text) if path == names), (0, 0))
    if not end:
        return Location(file)
    for name in reversed(re.findall(r"(?:before|after):? (\w+)", found.message)):
        if field := re.compile(rf"\b{name}\s*=\s*\d").search(text, start, end):
            start = field.start()
            break
    before = text[:start].split("\n")
    return Location(file, len(before), len(before[-1]) + 1)


def _blocks(text: str) -> Iterator[tuple[list[str], tuple[int, int]]]:
    """Yield the path of names of each message, enum and service, and its first and last character."""
    open_blocks: list[tuple[str, int]] = []
    pending = ("", 0)
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            open_blocks.append(pending)
            pending = ("", token.end())
        elif token[0] == "}" and open_blocks:
            yield [name for name, _ in open_blocks if name], (open_blocks[-1][1], token.end())
            open_blocks.pop()
        elif token[0][0].isalpha():
            pending = (token[0].split()[1], token.start())
