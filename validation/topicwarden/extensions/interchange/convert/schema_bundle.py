"""Write a schema of another tool's file as one self-contained text, with all parts that it refers to.

AsyncAPI's Schema Object is a superset of JSON Schema draft 7:
https://www.asyncapi.com/docs/reference/specification/v3.0.0#schemaObject
"""

from __future__ import annotations

import json
from typing import Any, Final

from topicwarden.extensions.interchange.convert.references import Node
from topicwarden.specs.yaml_nodes import KeyPath

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
