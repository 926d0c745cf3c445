"""The order of a document's own keys: the name first, then what holds everywhere, then what differs by stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import yaml

from topicwarden.specs.fix.text_edits import YamlDocument

ORDER: Final = (
    "topic",
    "description",
    "owner",
    "partitions",
    "replication_factor",
    "config",
    "contents",
    "stacks",
    "allow",
)


@dataclass(frozen=True)
class _Block:
    """A key with all that is written below it, and with the comments right above it; ``gap`` are blank lines before."""

    key: str
    gap: list[str]
    lines: list[str]


def key_order(text: str, documents: list[YamlDocument]) -> str:
    """``text`` with the keys of each document in ``ORDER``; blank lines stay where they are, comments go along.

    A document is left alone that is written in braces, has aliases or unknown keys, or begins with a comment that may
    be of its first key or of the whole.
    """
    # Lines are moved whole, so they must be the same lines to libyaml and to Python.
    if any(line_break in text for line_break in "\x85\u2028\u2029"):
        return text
    lines = text.splitlines(keepends=True)
    for document in reversed(documents):
        _order(lines, document)
    return "".join(lines)


def _order(lines: list[str], document: YamlDocument) -> None:
    keys = [key.value for key, _ in document.root.value]
    if any(key not in ORDER for key in keys) or not _movable(lines, document):
        return
    order = sorted(range(len(keys)), key=lambda index: ORDER.index(keys[index]))
    if order == list(range(len(keys))):
        return
    first = document.root.value[0][0].start_mark.line
    above = lines[first - 1].strip() if first else ""
    if order[0] != 0 and above.startswith("#") and not above.startswith("# yaml-language-server:"):
        return
    blocks = _blocks(lines, document.root)
    end = first + sum(len(block.gap) + len(block.lines) for block in blocks)
    moved = [line for index, block in zip(order, blocks, strict=True) for line in (*block.gap, *blocks[index].lines)]
    if not lines[end - 1].endswith(("\n", "\r")):
        # The file's last line has no end, and is not the last any more.
        ending = lines[first][len(lines[first].rstrip("\r\n")) :]
        moved = [line if line.endswith(("\n", "\r")) else line + ending for line in moved]
        moved[-1] = moved[-1].rstrip("\r\n")
    lines[first:end] = moved


def _movable(lines: list[str], document: YamlDocument) -> bool:
    """Whether each key stands on a line of its own, what is below it has a certain end, and no alias looks back."""
    if document.root.flow_style:
        return False
    marks = [key.start_mark for key, _ in document.root.value]
    values = [node for _, node in document.nodes.values()]
    alone = len({mark.column for mark in marks}) == 1 and all(not lines[m.line][: m.column].strip() for m in marks)
    certain = not any(_ends_anywhere(lines, key, node) for key, node in document.nodes.values())
    return alone and certain and len({id(node) for node in values}) == len(values)


def _ends_anywhere(lines: list[str], key: yaml.ScalarNode, node: yaml.Node) -> bool:
    """Blank lines are of the text of ``|+``; libyaml puts the value that ``? key`` lacks where the next thing is."""
    if not isinstance(node, yaml.ScalarNode):
        return False
    if node.style in ("|", ">"):
        return "+" in lines[node.start_mark.line][node.start_mark.column :].split("#")[0]
    return not node.value and not node.style and bool(node.start_mark.line != key.end_mark.line)


def _blocks(lines: list[str], root: yaml.MappingNode) -> list[_Block]:
    starts = [key.start_mark.line for key, _ in root.value]
    indent = root.value[0][0].start_mark.column
    ends = [_end(lines, value) for _, value in root.value]
    # Comments that are indented deeper than the keys are of what stands above them.
    for index, start in enumerate(starts[1:]):
        for number in range(ends[index], start):
            if lines[number].strip() and len(lines[number]) - len(lines[number].lstrip()) > indent:
                ends[index] = number + 1
    blocks: list[_Block] = []
    before = starts[0]
    for (key, _), end in zip(root.value, ends, strict=True):
        own = before
        while not lines[own].strip():
            own += 1
        blocks.append(_Block(key.value, lines[before:own], lines[own:end]))
        before = end
    return blocks


def _end(lines: list[str], node: yaml.Node) -> int:
    """The number of the line after the node's last; libyaml ends blocks only where the next token begins."""
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        end = node.end_mark.line + (node.end_mark.column > 0)
        while end > node.start_mark.line + 1 and not lines[end - 1].strip():
            end -= 1
        return int(end)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(lines, last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.line) + 1
