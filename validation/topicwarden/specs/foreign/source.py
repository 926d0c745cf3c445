"""A file of another tool: its text, or its documents, with the place of everything in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from topicwarden.problem import Location, Problem
from topicwarden.specs.nodes import Document, KeyPath, read_documents


@dataclass(frozen=True)
class Source:
    """A file of another tool: its path as it is printed, and its bytes."""

    file: str
    data: bytes

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8-sig", "replace")

    @property
    def documents(self) -> list[Document]:
        """The documents of YAML or JSON, those before the first error where it is not YAML to its end."""
        return self._read[0]

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the YAML itself."""
        documents, problems = self._read
        return [*problems, *(problem for document in documents for problem in document.problems)]

    @cached_property
    def _read(self) -> tuple[list[Document], list[Problem]]:
        return read_documents(self.data, self.file)

    def location(self, offset: int) -> Location:
        """The place of a character of ``text``."""
        before = self.text[:offset]
        return Location(self.file, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def at(document: Document, path: KeyPath) -> tuple[Any, Location]:
    """The value at a path of a document, None where there is none, and its place."""
    value = document.value
    for part in path:
        if isinstance(value, list) and isinstance(part, int):
            value = value[part]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value, document.at(path)
