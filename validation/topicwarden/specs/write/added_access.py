"""Add entries to ``access:`` of a topic's document, and keep every other byte of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import yaml

from topicwarden.specs.fix.key_order import ORDER, last_line
from topicwarden.specs.fix.text_edits import TextEdit, apply_edits
from topicwarden.specs.yaml_core_schema import compose
from topicwarden.specs.yaml_nodes import KeyPath

_INDENT: Final = "  "
_BOM: Final = b"\xef\xbb\xbf"


def with_entries(data: bytes, line: int, section: KeyPath, entries: Mapping[str, Sequence[str]]) -> bytes | None:
    """Return the content of a file with ``entries`` at the end of the lists below ``access`` of one document.

    The document begins at ``line`` (from 1). ``section`` is the path of the mapping that has ``access``: empty, or
    ``("stacks", stack)``. ``entries`` are lines of YAML by key: ``produce`` or ``consume``. Return None if the layout
    of the document has no position for them, such as a key without a value.
    """
    byte_order_mark = _BOM if data.startswith(_BOM) else b""
    text = data.decode("utf-8-sig")
    # Whole lines are inserted, so libyaml and Python must agree on the lines.
    if any(line_break in text for line_break in "\x85\u2028\u2029"):
        return None
    for key, items in entries.items():
        edited = _with_items(text, line, (*section, "access", key), items)
        if edited is None:
            return None
        text = edited
    return byte_order_mark + text.encode("utf-8")


def _with_items(text: str, line: int, path: KeyPath, items: Sequence[str]) -> str | None:
    root = next((node for node in compose(text) if node is not None and node.start_mark.line + 1 == line), None)
    node, depth = root, 0
    while depth < len(path) and isinstance(node, yaml.MappingNode) and node.value:
        child = next((value for key, value in node.value if key.value == path[depth]), None)
        if child is None:
            break
        node, depth = child, depth + 1
    if depth == len(path):
        edit = _appended(text, node, items) if isinstance(node, yaml.SequenceNode) else None
    elif isinstance(node, yaml.MappingNode) and node.value:
        edit = _inserted(text, node, path[depth:], items, is_root=depth == 0)
    else:
        edit = None
    return None if edit is None else apply_edits(text, [edit])


def _appended(text: str, node: yaml.SequenceNode, items: Sequence[str]) -> TextEdit | None:
    """Return the edit that adds ``items`` at the end of a list."""
    if node.flow_style:
        if not node.value:
            end = node.start_mark.index + 1
            return TextEdit(end, end, ", ".join(items))
        end = node.value[-1].end_mark.index
        return TextEdit(end, end, "".join(f", {item}" for item in items))
    # The list begins at its first dash.
    indent = " " * node.start_mark.column
    return _inserted_lines(
        text, last_line(text.splitlines(keepends=True), node), [f"{indent}- {item}" for item in items]
    )


def _inserted(
    text: str, node: yaml.MappingNode, path: KeyPath, items: Sequence[str], *, is_root: bool
) -> TextEdit | None:
    """Return the edit that adds the keys of ``path`` with a list of ``items`` to a mapping."""
    if node.flow_style:
        end = node.value[-1][1].end_mark.index
        if not node.value[-1][1].end_mark.index > node.value[-1][0].end_mark.index:
            return None  # a key without a value
        return TextEdit(end, end, f", {_flow(path, items)}")
    indent = " " * node.value[0][0].start_mark.column
    lines = [f"{indent}{line}" for line in _block(path, items)]
    text_lines = text.splitlines(keepends=True)
    before = _keys_before(node, str(path[0])) if is_root else [key for key, _ in node.value]
    if not before:
        return _inserted_lines(text, node.value[0][0].start_mark.line, lines)
    value = next(value for key, value in node.value if key is before[-1])
    return _inserted_lines(text, last_line(text_lines, value), lines)


def _keys_before(node: yaml.MappingNode, key: str) -> list[yaml.Node]:
    """Return the keys that are before the position of a new ``key`` in the usual order."""
    position = next((n for n, (each, _) in enumerate(node.value) if _order(each.value) > _order(key)), len(node.value))
    return [each for each, _ in node.value[:position]]


def _order(key: str) -> int:
    return ORDER.index(key) if key in ORDER else -1


def _flow(path: KeyPath, items: Sequence[str]) -> str:
    key, *rest = path
    return f"{key}: {{{_flow(tuple(rest), items)}}}" if rest else f"{key}: [{', '.join(items)}]"


def _block(path: KeyPath, items: Sequence[str]) -> Iterator[str]:
    key, *rest = path
    yield f"{key}:"
    below = _block(tuple(rest), items) if rest else (f"- {item}" for item in items)
    yield from (f"{_INDENT}{line}" for line in below)


def _inserted_lines(text: str, line: int, lines: Sequence[str]) -> TextEdit:
    """Return the edit that inserts ``lines`` before the line with this number (from 0)."""
    before = text.splitlines(keepends=True)[:line]
    at = sum(map(len, before))
    ending = "\r\n" if before and before[0].endswith("\r\n") else "\n"
    start = "" if not before or before[-1].endswith(("\n", "\r")) else ending
    return TextEdit(at, at, start + "".join(f"{each}{ending}" for each in lines))
