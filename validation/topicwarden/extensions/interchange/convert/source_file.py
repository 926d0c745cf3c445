"""A file of another tool: its text or its YAML documents, with locations, and which parts of it were read."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

import yaml

from topicwarden.model.message_text import describe_value, kind_of, quoted
from topicwarden.model.problem import Location, Problem
from topicwarden.specs.yaml_nodes import LINE_BREAK, KeyPath, ParsedDocument, read_documents

T = TypeVar("T")
_SURROGATE_PAIR: Final = re.compile(rb"(?<!\\)((?:\\\\)*)(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})")
_MESSAGES: Final = {
    "yaml-merge": "the merge key << is YAML 1.1 and is not supported; write the merged keys here",
    "yaml-tag": "this tag is not supported, or does not fit its value; delete the tag",
    "key-type": "expected text as a key; put the key in quotes",
}
"""Messages by rule, in place of those that quote the file."""


@dataclass(frozen=True)
class SourceFile:
    """A file of another tool: its path for messages, and its bytes.

    ``path`` is the file on disk, for references to files beside it. Only files in the folder ``root`` are read. Without
    both, the file refers to no other file.
    """

    file: str
    data: bytes
    path: Path | None = None
    root: Path | None = None

    @cached_property
    def _content(self) -> bytes:
        """The bytes of the file; in JSON, escaped surrogate pairs are replaced, for which YAML has no escape."""
        if not _SURROGATE_PAIR.search(self.data):
            return self.data
        try:
            json.loads(self.data)
        except (ValueError, RecursionError):
            return self.data
        return _SURROGATE_PAIR.sub(lambda match: match[1] + str(json.loads(b'"%b"' % match[2])).encode(), self.data)

    @cached_property
    def text(self) -> str:
        return self._content.decode("utf-8-sig", "replace")

    @cached_property
    def lines(self) -> list[str]:
        return LINE_BREAK.split(self.text)

    @property
    def documents(self) -> list[ParsedDocument]:
        """The YAML or JSON documents of the file; only those before the first syntax error."""
        return self._read[0]

    @property
    def syntax(self) -> list[Problem]:
        """The syntax error of the YAML; empty if there is none."""
        return self._read[1]

    @cached_property
    def problems(self) -> list[Problem]:
        """All problems of the YAML itself."""
        problems = [*self.syntax, *(problem for document in self.documents for problem in document.problems)]
        return [_without_values(problem) for problem in problems]

    @cached_property
    def comments(self) -> tuple[tuple[int, str], ...]:
        """The offset and the text of each YAML comment; empty if the file is not YAML."""
        return tuple(self._comments()) if "#" in self.text and not self.syntax else ()

    def _comments(self) -> Iterator[tuple[int, str]]:
        end = 0
        for token in yaml.scan(self.text, Loader=yaml.CSafeLoader):
            for match in re.compile(r"(?<!\S)#[^\r\n]*").finditer(self.text, end, token.start_mark.index):
                yield match.start(), match[0]
            end = max(end, token.end_mark.index)

    @cached_property
    def _read(self) -> tuple[list[ParsedDocument], list[Problem]]:
        return read_documents(self._content, self.file)

    def location(self, offset: int) -> Location:
        """Return the location of the character at ``offset`` of ``text``."""
        line = bisect_right(self._starts, offset)
        return Location(self.file, line, offset - self._starts[line - 1] + 1)

    def offset(self, location: Location) -> int:
        """Return the offset of ``location`` in ``text``."""
        return self._starts[location.line - 1] + location.column - 1

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in LINE_BREAK.finditer(self.text))]


@dataclass(frozen=True, eq=False)
class ImportedFiles:
    """All files of one import, and what was found in them."""

    sources: tuple[SourceFile, ...] = ()
    _found: dict[Callable[..., Any], Any] = field(default_factory=dict)

    def once(self, find: Callable[[tuple[SourceFile, ...]], T]) -> T:
        """Return ``find(sources)``. Each function is called once for the import, and not for each file."""
        if find not in self._found:
            self._found[find] = find(self.sources)
        return cast(T, self._found[find])


def value_at(document: ParsedDocument, path: KeyPath) -> tuple[Any, Location]:
    """Return the value at ``path`` of a document (None if there is none) and its location."""
    value = document.value
    for part in path:
        if isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value, document.at(path)


def _without_values(problem: Problem) -> Problem:
    """Return the problem without text of the file, which may be secret, and without advice for ``topics/``."""
    quotes = '"' in problem.message or problem.rule == "yaml-merge"
    message = _MESSAGES.get(problem.rule, problem.message) if quotes else problem.message
    return Problem(problem.location, message, problem.rule)


UnreadPart: TypeAlias = tuple[Location, str]
"""The location of an unread part, and its name in the report."""

_VARIABLE: Final = re.compile(r"\s*(?:(?:export|ENV|ARG|-e|--env)\s+)?[\"']?([A-Za-z_][\w.-]*)\s*=")
_NAME_KEYS: Final = ("name", "property", "username", "metric")
"""Keys that name the items of a list, in Kubernetes and in data contracts."""
_FIELD_NAME: Final = re.compile(r"[\w.$/@{}-]+")
_WORD: Final = re.compile(r"[\w.,:*+/-]*|..?")
_LEADING_ZERO: Final = re.compile(r"(?:[&!]\S+\s+)*([-+]?0[0-9_]+)\s*(?:[,\]}#\n]|$)")


class UnreadFields:
    """The fields of one YAML or JSON document, and which of them were read."""

    def __init__(self, source: SourceFile, document: ParsedDocument) -> None:
        self._source = source
        self.document = document
        self._taken_paths: set[KeyPath] = set()
        self._parents: set[KeyPath] = {()}

    def peek(self, path: KeyPath) -> tuple[Any, Location]:
        """Return the value at ``path`` (None if there is none) and its location, without marking it as read."""
        return value_at(self.document, path)

    def take(self, path: KeyPath) -> tuple[Any, Location]:
        """Return the value at ``path`` and its location, and mark it and everything below it as read."""
        self._taken_paths.add(path)
        self._parents.update(path[:length] for length in range(len(path)))
        return self.peek(path)

    def touched(self, path: KeyPath) -> bool:
        """Return whether a part of the value at ``path`` was read."""
        return path in self._taken_paths or (path in self._parents and bool(self._taken_paths))

    def take_as_comments(self, path: KeyPath, skip: int = 0) -> Iterator[str]:
        """Mark the value at ``path`` as read, and yield it as comment lines; ``skip`` shortens its path."""
        if path not in self.document.values:
            return
        value, _ = self.take(path)
        if isinstance(value, dict) and value:
            for key in value:
                yield from self.take_as_comments((*path, key), skip)
        else:
            yield f"{_path(path[skip:])}: {_flow(value)}"

    def octal_number(self, path: KeyPath) -> str | None:
        """Return the text of a number with a leading zero such as ``012`` (octal in YAML 1.1 only), else None."""
        location = self.document.at(path)
        lines = self._source.lines[location.line - 1 : location.line]
        match = _LEADING_ZERO.match(lines[0], location.column - 1) if lines else None
        return match[1] if match else None

    def unread_parts(self) -> Iterator[UnreadPart]:
        """Yield the outermost fields that are completely unread, in document order."""
        yield from self._unread_parts((), self.document.value)

    def _unread_parts(self, path: KeyPath, value: Any) -> Iterator[UnreadPart]:
        if path in self._taken_paths:
            return
        if path not in self._parents or not isinstance(value, (dict, list)):
            yield self.document.at_key(path), _name(path, value)
            return
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from self._unread_parts((*path, key), item)


class UnreadText:
    """The text of a file that is not YAML, and which ranges were read.

    Unread text is reported by variable name or line number, as it may be secret.
    """

    def __init__(self, source: SourceFile) -> None:
        self._source = source
        self._taken: list[tuple[int, int]] = []

    def take_range(self, start: int, end: int) -> None:
        """Mark the characters from ``start`` up to ``end`` (exclusive) as read."""
        self._taken.append((start, end))

    def unread_parts(self) -> Iterator[UnreadPart]:
        """Yield the unread part of each line, by its variable name or line number."""
        text = self._source.text
        taken = bytearray(len(text))
        for start, end in self._taken:
            taken[start:end] = b"\1" * (end - start)
        for run in re.finditer(b"\0+", taken):
            for found in re.compile(r"[^\r\n]+").finditer(text, run.start(), run.end()):
                part = found[0].strip(" \t,;\"'\\")
                if part:
                    location = self._source.location(found.start())
                    variable = _VARIABLE.match(part)
                    yield location, variable[1] if variable else f"line {location.line}"


def shown_key(key: str) -> str:
    """Return a key for messages, up to the first character that a name of a field cannot have.

    Where a colon or a quotation mark is missing, the rest of the key is a value, which may be secret.
    """
    name = _FIELD_NAME.match(key)
    return key if name and name[0] == key else f"{name[0] if name else ''}…"


def is_word(text: str) -> bool:
    """Return whether messages may quote ``text``.

    Where a quotation mark or a line break is missing, a text continues with the value of another key, which may be
    secret.
    """
    return _WORD.fullmatch(text) is not None


def shown_value(value: object) -> str:
    """Return a value for messages, to end ``expected …, got …``. Of texts, only single words are quoted."""
    return describe_value(value) if not isinstance(value, str) or is_word(value) else kind_of(value)


def shown_name(value: object) -> str:
    """Return a name that is written as a value, in quotation marks; … in place of more than a single word."""
    return quoted(str(value)) if is_word(str(value)) else "…"


def _path(path: KeyPath) -> str:
    """Return the path for messages, such as ``items[].metadata.uid``.

    It starts at the innermost list and has no indices, so that all items of a list share one name.
    """
    lists = [number for number, part in enumerate(path[:-1]) if isinstance(part, int)]
    path = path[lists[-1] - 1 :] if lists and lists[-1] else path
    return "".join("[]" if isinstance(part, int) else f".{shown_key(part)}" for part in path).removeprefix(".")


def _name(path: KeyPath, value: Any) -> str:
    """Return the path for messages, with the name of a list item (such as a container's environment variable)."""
    name = None
    if path and isinstance(path[-1], int):
        variable = _VARIABLE.match(value) if isinstance(value, str) else None
        names = (value.get(key) for key in _NAME_KEYS) if isinstance(value, dict) else ()
        name = variable[1] if variable else next((name for name in names if isinstance(name, str)), None)
    return f"{_path(path)} {name}" if isinstance(name, str) else _path(path) or "a whole document"


def _flow(value: Any) -> str:
    if isinstance(value, str) and value.isprintable() and value.strip() == value and value:
        return value
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else json.dumps(value)
