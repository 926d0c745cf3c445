"""The nodes of YAML documents, and edits of their text by position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from topicwarden.specs.document_model import CommonSettings
from topicwarden.specs.yaml_core_schema import compose
from topicwarden.specs.yaml_nodes import KeyPath, ParsedDocument


@dataclass(frozen=True)
class EditableDocument:
    """A document that is a mapping: its plain value, its model, its root node, and its key and value nodes by path."""

    value: Mapping[str, Any]
    model: type[CommonSettings]
    root: yaml.MappingNode
    nodes: Mapping[KeyPath, tuple[yaml.ScalarNode, yaml.Node]]


@dataclass(frozen=True, order=True)
class TextEdit:
    """Replaces ``text[start:end]`` by ``new``."""

    start: int
    end: int
    new: str


def yaml_documents(
    text: str, documents: Iterable[ParsedDocument], model: type[CommonSettings]
) -> list[EditableDocument]:
    """Return those documents of ``text`` that are mappings. ``documents`` were read from ``text`` without problems."""
    values = [document.value for document in documents if isinstance(document.value, dict)]
    roots = [root for root in compose(text) if isinstance(root, yaml.MappingNode)]
    return [
        EditableDocument(value, model, root, dict(_nodes(root, ()))) for value, root in zip(values, roots, strict=True)
    ]


def replace_scalar(text: str, node: yaml.ScalarNode, new: str) -> TextEdit | None:
    """Return the edit that replaces a scalar's text and keeps its quotes.

    None if the scalar has escapes, line folds or a tag.
    """
    start, end = node.start_mark.index, node.end_mark.index
    raw = text[start:end]
    if raw == node.value:
        return TextEdit(start, end, new)
    if raw[:1] in ("'", '"') and raw[1:-1] == node.value:
        return TextEdit(start + 1, end - 1, new)
    return None


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Return ``text`` with ``edits`` applied, which must not overlap.

    An alias can cause several edits at one position: they are applied only if they are equal.
    """
    by_range: dict[tuple[int, int], set[TextEdit]] = {}
    for edit in edits:
        by_range.setdefault((edit.start, edit.end), set()).add(edit)
    for edit in sorted(
        (edit for edits_at_location in by_range.values() if len(edits_at_location) == 1 for edit in edits_at_location),
        reverse=True,
    ):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def _nodes(node: yaml.Node, path: KeyPath) -> Iterator[tuple[KeyPath, tuple[yaml.ScalarNode, yaml.Node]]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            child = (*path, key.value)
            yield child, (key, value)
            yield from _nodes(value, child)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _nodes(item, (*path, index))
