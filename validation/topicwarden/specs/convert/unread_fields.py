"""Which parts of a file a reader has accounted for. Whatever is left is named, so nothing is dropped silently."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from topicwarden.model.problem import Location
from topicwarden.specs.convert.source_file import SourceFile, at
from topicwarden.specs.message_text import quoted
from topicwarden.specs.yaml_nodes import KeyPath, YamlFile

Leftover: TypeAlias = tuple[Location, str]
"""Where a part begins that no reader has accounted for, and what it is called."""

_VARIABLE: Final = re.compile(r"\s*(?:(?:export|ENV|ARG|-e|--env)\s+)?[\"']?([A-Za-z_][\w.-]*)\s*=")
_OCTAL: Final = re.compile(r"(?:[&!]\S+\s+)*([-+]?0[0-9_]+)\s*(?:[,\]}#\n]|$)")


class UnreadFields:
    """The fields of one YAML or JSON document."""

    def __init__(self, source: SourceFile, document: YamlFile) -> None:
        self._source = source
        self.document = document
        self._read: set[KeyPath] = set()

    def at(self, path: KeyPath) -> tuple[Any, Location]:
        """Return the value at a path, None if there is none, and its place, without accounting for it."""
        return at(self.document, path)

    def take(self, path: KeyPath) -> tuple[Any, Location]:
        """Return the value at a path and its place, and account for everything below that path."""
        self._read.add(path)
        return self.at(path)

    def keep(self, path: KeyPath, below: int = 0) -> Iterator[str]:
        """Account for a value, and yield it as lines of a comment; ``below`` shortens the path by its first keys."""
        if path not in self.document.values:
            return
        value, _ = self.take(path)
        if isinstance(value, dict) and value:
            for key in value:
                yield from self.keep((*path, key), below)
        else:
            yield f"{_path(path[below:])}: {_flow(value)}"

    def octal(self, path: KeyPath) -> str | None:
        """Return the number as written if YAML 1.1 reads it as octal and YAML 1.2 does not, such as ``012``."""
        place = self.document.at(path)
        lines = self._source.lines[place.line - 1 : place.line]
        match = _OCTAL.match(lines[0], place.column - 1) if lines else None
        return match[1] if match else None

    def leftovers(self) -> Iterator[Leftover]:
        """Yield the outermost fields of which no part is accounted for, in the order of the document."""
        opened = {(), *(path[:length] for path in self._read for length in range(len(path)))}
        yield from self._leftovers((), self.document.value, opened)

    def _leftovers(self, path: KeyPath, value: Any, opened: set[KeyPath]) -> Iterator[Leftover]:
        if path in self._read:
            return
        if path not in opened or not isinstance(value, (dict, list)):
            yield self.document.at_key(path), _name(path, value)
            return
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from self._leftovers((*path, key), item, opened)


class UnreadText:
    """The lines of a file that is not YAML. Values of variables may be secrets, so only their names are shown."""

    def __init__(self, source: SourceFile, *, shown: bool) -> None:
        self._source = source
        self._shown = shown
        self._claimed: list[tuple[int, int]] = []

    def claim(self, start: int, end: int) -> None:
        """Account for the characters from ``start`` up to ``end``."""
        self._claimed.append((start, end))

    def leftovers(self) -> Iterator[Leftover]:
        """Yield what is left of each line, quoted if the text may be shown, otherwise by name or line number."""
        text = self._source.text
        claimed = bytearray(len(text))
        for start, end in self._claimed:
            claimed[start:end] = b"\1" * (end - start)
        for run in re.finditer(b"\0+", claimed):
            for found in re.compile(r"[^\r\n]+").finditer(text, run.start(), run.end()):
                part = found[0].strip(" \t,;\"'\\")
                if part:
                    place = self._source.location(found.start())
                    yield place, self._name(part, place.line)

    def _name(self, part: str, line: int) -> str:
        if self._shown:
            return f"line {line} {quoted(part)}"
        variable = _VARIABLE.match(part)
        return variable[1] if variable else f"line {line}"


def _path(path: KeyPath) -> str:
    """``items[].metadata.uid``: from the innermost list, without indices, so that all items are named once."""
    lists = [number for number, part in enumerate(path[:-1]) if isinstance(part, int)]
    path = path[lists[-1] - 1 :] if lists and lists[-1] else path
    return "".join("[]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def _name(path: KeyPath, value: Any) -> str:
    """The path; an item of a list is also called by its name, as in the environment of a container."""
    name = None
    if path and isinstance(path[-1], int):
        variable = _VARIABLE.match(value) if isinstance(value, str) else None
        name = variable[1] if variable else value.get("name") if isinstance(value, dict) else None
    return f"{_path(path)} {name}" if isinstance(name, str) else _path(path) or "a whole document"


def _flow(value: Any) -> str:
    if isinstance(value, str) and value.isprintable() and value.strip() == value and value:
        return value
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else json.dumps(value)
