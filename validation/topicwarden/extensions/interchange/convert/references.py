"""Follow the ``$ref`` of a document, to other parts of the document and to files beside it.

Source: the Reference Object of AsyncAPI, https://www.asyncapi.com/docs/reference/specification/v3.0.0#referenceObject;
RFC 6901 (JSON Pointer). References to other hosts are never followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from topicwarden.extensions.interchange.convert.source_file import SourceFile
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
from topicwarden.extensions.interchange.convert.unread_fields import UnreadFields
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Location
from topicwarden.specs.yaml_nodes import KeyPath

_REMOTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MAX_BYTES: Final = 1 << 22


@dataclass(frozen=True)
class Node:
    """A value of a document at ``path``; ``document`` has the document's fields and follows references."""

    document: ReferencingDocument
    path: KeyPath

    @property
    def value(self) -> Any:
        return self.document.fields.peek(self.path)[0]

    @property
    def location(self) -> Location:
        return self.document.fields.document.at(self.path)

    def take(self) -> Any:
        """Return the value, and mark it and everything below it as read."""
        return self.document.fields.take(self.path)[0]

    def child(self, *keys: str | int) -> Node | None:
        """Return the node below this one, behind all references on the way; None if there is none."""
        node: Node | None = self
        for key in keys:
            value = node.value if node else None
            index = range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
            if node is None or key not in index:
                return None
            node = Node(node.document, (*node.path, key)).target()
        return node

    def children(self) -> Iterator[tuple[Any, Node]]:
        """Yield the key and the node of each item of a mapping or a list, behind references."""
        value = self.value
        keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        for key in keys:
            child = self.child(key)
            if child is not None:
                yield key, child

    def take_text(self, *keys: str) -> str | None:
        """Return the text below this node, and mark it as read; None if there is none or it is no text."""
        node = self.child(*keys)
        if node is None or not isinstance(node.value, str):
            return None
        return str(node.take())

    def target(self) -> Node | None:
        """Return the node itself; if it is a reference, what it refers to. None, with a report, if there is nothing."""
        node, visited = self, {self}
        while isinstance(node.value, dict) and isinstance(node.value.get("$ref"), str):
            reference = node.document.fields.take((*node.path, "$ref"))[0]
            location = node.document.fields.document.at((*node.path, "$ref"))
            found = node.document.find(reference, location)
            if found is None:
                return None
            if found in visited:
                self.document.reader.add_problem(location, f"$ref {quoted(reference)} refers to itself", "value")
                return None
            visited.add(found)
            node = found
        return node


class ReferencingDocument:
    """One document, and the documents that it refers to by file."""

    def __init__(
        self,
        fields: UnreadFields,
        source: SourceFile,
        reader: TopicReader,
        by_path: dict[Path, ReferencingDocument | None] | None = None,
    ) -> None:
        self.fields = fields
        self.reader = reader
        self._source = source
        self._by_path: dict[Path, ReferencingDocument | None] = {} if by_path is None else by_path
        if source.path:
            self._by_path[source.path] = self

    @property
    def root(self) -> Node:
        return Node(self, ())

    def find(self, reference: str, location: Location) -> Node | None:
        """Return the node that a ``$ref`` at ``location`` names; report a missing one and return None."""
        file, _, pointer = reference.partition("#")
        if _REMOTE.match(file):
            reason = "references to other hosts are not followed, so not imported"
            self.reader.note(location, _without_secrets(reference), reason)
            return None
        document = self._other(unquote(file), location) if file else self
        if document is None:
            return None
        path = document._path(unquote(pointer))
        if path is None:
            expected = "a JSON pointer such as #/components/schemas/NAME, to a value that exists"
            self.reader.add_problem(location, f"$ref: expected {expected}, got {quoted(reference)}", "value")
            return None
        return Node(document, path)

    def _path(self, pointer: str) -> KeyPath | None:
        """Return the path of a JSON pointer; None if the document has no such value."""
        if pointer and not pointer.startswith("/"):
            return None
        path: KeyPath = ()
        for token in pointer.split("/")[1:]:
            value, key = self.fields.peek(path)[0], token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                path = (*path, int(key))
            elif isinstance(value, dict) and key in value:
                path = (*path, key)
            else:
                return None
        return path

    def _other(self, file: str, location: Location) -> ReferencingDocument | None:
        if self._source.path is None or self._source.root is None:
            self.reader.add_problem(location, f"$ref: {quoted(file)} cannot be read from here", "value")
            return None
        path = Path(os.path.realpath(self._source.path.parent / file))
        if path not in self._by_path:
            self._by_path[path] = self._read(file, path, self._source.root, location)
        return self._by_path[path]

    def _read(self, file: str, path: Path, root: Path, location: Location) -> ReferencingDocument | None:
        if not path.is_relative_to(os.path.realpath(root)):
            message = f"$ref: {quoted(file)} is outside of the folder of this file; move both into one folder"
            self.reader.add_problem(location, message, "value")
            return None
        try:
            data = path.read_bytes() if path.is_file() and path.stat().st_size <= _MAX_BYTES else None
        except OSError:
            data = None
        folder = self._source.file.rpartition("/")[0]
        name = os.path.normpath(f"{folder}/{file}" if folder else file)
        source = SourceFile(name, data or b"", path, root)
        fields = self.reader.document_beside(source) if data is not None else None
        if fields is None:
            message = f"$ref: expected a YAML or JSON file of at most 4 MiB, {quoted(file)} is none"
            self.reader.add_problem(location, message, "value")
            return None
        return ReferencingDocument(fields, source, self.reader, self._by_path)


def _without_secrets(url: str) -> str:
    """Return a URL without a password and without its query, which can contain a token."""
    return re.sub(r"//[^/]*@", "//", url).partition("?")[0]
