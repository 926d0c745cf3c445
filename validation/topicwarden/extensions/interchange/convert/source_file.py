"""A file of another tool: its text or its YAML documents, with locations."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import yaml

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
