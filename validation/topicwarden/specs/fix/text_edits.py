"""One document of a text, node by node, and edits of the text by position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from topicwarden.specs.document_model import ConfigSpec
from topicwarden.specs.yaml_core_schema import compose
from topicwarden.specs.yaml_nodes import KeyPath, YamlFile


@dataclass(frozen=True)
class YamlDocument:
    """A document that is a mapping: its plain value, its root, and the nodes of each key and its value by path."""

    value: Mapping[str, Any]
    shape: type[ConfigSpec]
    root: yaml.MappingNode
    nodes: Mapping[KeyPath, tuple[yaml.ScalarNode, yaml.Node]]


@dataclass(frozen=True, order=True)
class TextEdit:
    """``text[start:end]`` becomes ``new``."""

    start: int
    end: int
    new: str


def parts(text: str, documents: Iterable[YamlFile], shape: type[ConfigSpec]) -> list[YamlDocument]:
    """The mappings among the documents of ``text``, which ``documents`` were read from without a problem."""
    values = [document.value for document in documents if isinstance(document.value, dict)]
    roots = [root for root in compose(text) if isinstance(root, yaml.MappingNode)]
    return [YamlDocument(value, shape, root, dict(_walk(root, ()))) for value, root in zip(values, roots, strict=True)]


def respell(text: str, node: yaml.ScalarNode, new: str) -> TextEdit | None:
    """The scalar with other text in the quotes that it has; None where it is written with escapes, folds or a tag."""
    start, end = node.start_mark.index, node.end_mark.index
    raw = text[start:end]
    if raw == node.value:
        return TextEdit(start, end, new)
    if raw[:1] in ("'", '"') and raw[1:-1] == node.value:
        return TextEdit(start + 1, end - 1, new)
    return None


def edited(text: str, edits: Iterable[TextEdit]) -> str:
    """``text`` with edits that do not overlap; where an alias makes several of one place, none if they differ."""
    by_place: dict[tuple[int, int], set[TextEdit]] = {}
    for edit in edits:
        by_place.setdefault((edit.start, edit.end), set()).add(edit)
    for edit in sorted((edit for same in by_place.values() if len(same) == 1 for edit in same), reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def _walk(node: yaml.Node, path: KeyPath) -> Iterator[tuple[KeyPath, tuple[yaml.ScalarNode, yaml.Node]]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = (*path, key.value)
            yield below, (key, value)
            yield from _walk(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _walk(item, (*path, index))
