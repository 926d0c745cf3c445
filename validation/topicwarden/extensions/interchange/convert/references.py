"""Follow the ``$ref`` of a document, to other parts of it and to files beside it, and bundle schemas with them.

Source: the Reference Object of AsyncAPI, https://www.asyncapi.com/docs/reference/specification/v3.0.0#referenceObject;
RFC 6901 (JSON Pointer). References to other hosts are never followed.

AsyncAPI's Schema Object is a superset of JSON Schema draft 7:
https://www.asyncapi.com/docs/reference/specification/v3.0.0#schemaObject
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from topicwarden.extensions.interchange.convert.source_file import SourceFile, UnreadFields
from topicwarden.extensions.interchange.convert.topic_reader import TopicReader
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
            if isinstance(value, list) and key.isdecimal() and len(key) < 10 and int(key) < len(value):
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


DRAFT_7: Final = "http://json-schema.org/draft-07/schema#"
_DEFINITIONS: Final = "definitions"
_DATA: Final = ("const", "default", "enum", "example", "examples")
"""Keywords with data, in which ``$ref`` is no reference."""


class SchemaBundle:
    """Collects JSON Schemas; ``definitions`` are the parts that they refer to."""

    def __init__(self, draft: str = DRAFT_7) -> None:
        """``draft`` is the ``$schema`` of a schema that names none."""
        self._draft = draft
        self.complete = True
        self._definitions: dict[str, Any] = {}
        self._names: dict[Node, str] = {}
        self._root: Node | None = None

    def text(self, schemas: list[Node]) -> str | None:
        """Return a schema that accepts what one of ``schemas`` accepts; None if a reference leads nowhere."""
        self._root = schemas[0] if len(schemas) == 1 else None
        for node in schemas:
            self._definitions |= dict.fromkeys(_own_definitions(node.value))
        parts = [self._copied(node) for node in schemas]
        schema: Any = parts[0] if len(parts) == 1 else {"anyOf": parts}
        if not isinstance(schema, dict) or not self.complete:
            return json_text(schema) if self.complete else None
        definitions = {name: part for name, part in self._definitions.items() if part is not None}
        definitions |= _own_definitions(schema)
        schema = {"$schema": self._draft, **schema}
        return json_text(schema | ({_DEFINITIONS: definitions} if definitions else {}))

    def _copied(self, node: Node) -> Any:
        value = node.take()
        return self._rewritten(node, (), value)

    def _rewritten(self, root: Node, path: KeyPath, value: Any) -> Any:
        """Return ``value`` at ``path`` below ``root``, with references to the definitions of the bundle."""
        if isinstance(value, list):
            return [self._rewritten(root, (*path, index), item) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        copy: dict[str, Any] = {}
        for key, item in value.items():
            is_keyword = not path or path[-1] not in ("properties", "patternProperties", _DEFINITIONS, "$defs")
            if key == "$ref" and is_keyword and isinstance(item, str):
                copy[key] = self._reference(Node(root.document, (*root.path, *path)))
            elif key in _DATA and is_keyword:
                copy[key] = item
            else:
                copy[key] = self._rewritten(root, (*path, key), item)
        return copy

    def _reference(self, node: Node) -> str:
        target = node.target()
        if target is None:
            self.complete = False
            return "#"
        if self._root and target.document is self._root.document:
            below = target.path[: len(self._root.path)] == self._root.path
            if below:
                tokens = (str(key).replace("~", "~0").replace("/", "~1") for key in target.path[len(self._root.path) :])
                return "/".join(("#", *tokens))
        if target not in self._names:
            stem = str(target.path[-1]) if target.path else "schema"
            stem = "".join(character if character.isalnum() else "_" for character in stem)
            name, number = stem, 2
            while name in self._definitions:
                name, number = f"{stem}_{number}", number + 1
            self._names[target] = name
            self._definitions[name] = None
            self._definitions[name] = self._copied(target)
        return f"#/{_DEFINITIONS}/{self._names[target]}"


def _own_definitions(schema: Any) -> dict[str, Any]:
    definitions = schema.get(_DEFINITIONS) if isinstance(schema, dict) else None
    return definitions if isinstance(definitions, dict) else {}


def json_text(value: Any) -> str:
    """Return ``value`` as readable JSON. Raise ValueError for a number that JSON does not have."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
