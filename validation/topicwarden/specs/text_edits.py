"""Edits of the text of YAML documents by position, and the order of a document's top-level keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

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


ORDER: Final = (
    "topic",
    "description",
    "owner",
    "partitions",
    "replication_factor",
    "config",
    "contents",
    "access",
    "stacks",
    "allow",
)


@dataclass(frozen=True)
class _KeyBlock:
    """A key with all lines of its value, the comments directly above it, and the blank lines before these."""

    key: str
    blank_lines: list[str]
    lines: list[str]


def sort_keys(text: str, documents: list[EditableDocument]) -> str:
    """Return ``text`` with the top-level keys of each document in ``ORDER``. Comments move with their key.

    Blank lines stay in place. A document is unchanged if it is in flow style (braces), has aliases or unknown keys, or
    begins with a comment that may belong to the whole document.
    """
    # Whole lines are moved, so libyaml and Python must agree on the lines.
    if any(line_break in text for line_break in "\x85\u2028\u2029"):
        return text
    lines = text.splitlines(keepends=True)
    for document in reversed(documents):
        _sort_document(lines, document)
    return "".join(lines)


def _sort_document(lines: list[str], document: EditableDocument) -> None:
    keys = [key.value for key, _ in document.root.value]
    if any(key not in ORDER for key in keys) or not _is_movable(lines, document):
        return
    sorted_indices = sorted(range(len(keys)), key=lambda index: ORDER.index(keys[index]))
    if sorted_indices == list(range(len(keys))):
        return
    first = document.root.value[0][0].start_mark.line
    line_above = lines[first - 1].strip() if first else ""
    if sorted_indices[0] != 0 and line_above.startswith("#") and not line_above.startswith("# yaml-language-server:"):
        return
    blocks = _blocks(lines, document.root)
    end = first + sum(len(block.blank_lines) + len(block.lines) for block in blocks)
    sorted_lines = [
        line
        for index, block in zip(sorted_indices, blocks, strict=True)
        for line in (*block.blank_lines, *blocks[index].lines)
    ]
    if not lines[end - 1].endswith(("\n", "\r")):
        # The last line of the file has no line break, and another line will be last.
        ending = lines[first][len(lines[first].rstrip("\r\n")) :]
        sorted_lines = [line if line.endswith(("\n", "\r")) else line + ending for line in sorted_lines]
        sorted_lines[-1] = sorted_lines[-1].rstrip("\r\n")
    lines[first:end] = sorted_lines


def _is_movable(lines: list[str], document: EditableDocument) -> bool:
    """Return whether each key is on a line of its own, the end of each value is known, and there are no aliases."""
    if document.root.flow_style:
        return False
    marks = [key.start_mark for key, _ in document.root.value]
    values = [node for _, node in document.nodes.values()]
    on_own_lines = len({mark.column for mark in marks}) == 1 and all(
        not lines[m.line][: m.column].strip() for m in marks
    )
    ends_known = not any(_has_uncertain_end(lines, key, node) for key, node in document.nodes.values())
    return on_own_lines and ends_known and len({id(node) for node in values}) == len(values)


def _has_uncertain_end(lines: list[str], key: yaml.ScalarNode, node: yaml.Node) -> bool:
    """Return whether the last line of the value cannot be determined.

    The text of ``|+`` includes the blank lines after it. For ``? key`` without a value, libyaml reports the position of
    the next token.
    """
    if not isinstance(node, yaml.ScalarNode):
        return False
    if node.style in ("|", ">"):
        return "+" in lines[node.start_mark.line][node.start_mark.column :].split("#")[0]
    return not node.value and not node.style and bool(node.start_mark.line != key.end_mark.line)


def _blocks(lines: list[str], root: yaml.MappingNode) -> list[_KeyBlock]:
    starts = [key.start_mark.line for key, _ in root.value]
    indent = root.value[0][0].start_mark.column
    ends = [last_line(lines, value) for _, value in root.value]
    # A comment that is indented deeper than the keys belongs to the value above it.
    for index, start in enumerate(starts[1:]):
        for line_number in range(ends[index], start):
            if lines[line_number].strip() and len(lines[line_number]) - len(lines[line_number].lstrip()) > indent:
                ends[index] = line_number + 1
    blocks: list[_KeyBlock] = []
    block_start = starts[0]
    for (key, _), end in zip(root.value, ends, strict=True):
        first_line = block_start
        while not lines[first_line].strip():
            first_line += 1
        blocks.append(_KeyBlock(key.value, lines[block_start:first_line], lines[first_line:end]))
        block_start = end
    return blocks


def last_line(lines: list[str], node: yaml.Node) -> int:
    """Return the number of the line after the node's last line.

    libyaml reports the end of a block at the next token, so the last child node is used instead.
    """
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        end = node.end_mark.line + (node.end_mark.column > 0)
        while end > node.start_mark.line + 1 and not lines[end - 1].strip():
            end -= 1
        return int(end)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return last_line(lines, last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.line) + 1
