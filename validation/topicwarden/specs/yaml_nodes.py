"""One YAML file to plain values with the place of each: a single walk over the nodes that libyaml composes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import yaml

from topicwarden.model.problem import Level, Location, Problem
from topicwarden.specs.message_text import quoted
from topicwarden.specs.yaml_core_schema import MAX_DEPTH, PATTERNS, TAG, compose
from topicwarden.specs.yaml_syntax import syntax_problem

KeyPath: TypeAlias = tuple[str | int, ...]
Value: TypeAlias = Any
Mark: TypeAlias = tuple[int, int]

_COMMENT: Final = re.compile(r":?[ \t]+(#[^\s#][^\r\n]*)")
"""A comment as nobody spaces one, behind a value or the colon of a key."""
_PROSE: Final = ("description", "reason", "message")
MAX_ALIASED: Final = 10_000
MAX_LINE: Final = 500_000
LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""What ends a line to libyaml, and so to every place."""
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class YamlFile:
    """One document of a file: its plain value, and where each value and each key of a mapping stands.

    A path is of keys and list indices from the document's root, ``()``. ``problems`` are those of the YAML itself;
    ``warnings`` are of YAML that is taken, and probably not meant.
    """

    file: str
    value: Value = None
    values: dict[KeyPath, Mark] = field(default_factory=dict)
    keys: dict[KeyPath, Mark] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def at(self, path: KeyPath) -> Location:
        """Where the value at ``path`` stands, or what would hold it, or the document."""
        while path not in self.values and path:
            path = path[:-1]
        return Location(self.file, *self.values.get(path, (1, 1)))

    def at_key(self, path: KeyPath) -> Location:
        """Where the key stands that ``path`` ends with; the value where there is no such key."""
        return Location(self.file, *self.keys[path]) if path in self.keys else self.at(path)


def read_documents(data: bytes, file: str) -> tuple[list[YamlFile], list[Problem]]:
    """The documents of a YAML file, and why it is not (or not to its end) YAML in UTF-8.

    Documents before a syntax error are given all the same; empty ones are left out.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _locate(data[: error.start].decode("utf-8-sig"), file)
        byte = f"byte 0x{data[error.start]:02x}"
        return [], [Problem(place, f"expected UTF-8, seen {byte}; save the file as UTF-8", "yaml-encoding")]
    if found := _UNPRINTABLE.search(text):
        place = _locate(text[: found.start()], file)
        return [], [Problem(place, f"U+{ord(found[0]):04X} may not stand in YAML; delete it", "yaml-syntax")]
    if len(text) > MAX_LINE and (place_of_line := _too_long(text, file)):
        message = f"expected lines of at most {MAX_LINE:,} characters, seen a longer one; break it"
        return [], [Problem(place_of_line, message, "yaml-line")]
    documents: list[YamlFile] = []
    try:
        for node in compose(text):
            document = _Walk(file, text).document(node)
            if document.value is not None or document.problems:
                documents.append(document)
    except yaml.MarkedYAMLError as error:
        return documents, [syntax_problem(error, text, file)]
    return documents, []


class _Walk:
    """The walk over one document; what it has seen so far."""

    def __init__(self, file: str, text: str) -> None:
        self._document = YamlFile(file)
        self._text = text
        self._walked: set[int] = set()
        self._aliased = 0

    def document(self, root: yaml.Node) -> YamlFile:
        self._document.value = self._value(root, ())
        return self._document

    def _value(self, node: yaml.Node, path: KeyPath) -> Value:
        self._document.values[path] = _mark(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self._walked:
            self._aliased += 1 + len(node.value)
        self._walked.add(id(node))
        if self._aliased > MAX_ALIASED:
            return self._once(node, f"aliases make more than {MAX_ALIASED} values of this; write it out", "yaml-alias")
        if len(path) > MAX_DEPTH:
            message = f"this is nested more than {MAX_DEPTH} levels deep; write it flat, and let no alias name itself"
            return self._once(node, message, "yaml-depth")
        if node.tag not in (TAG + "seq", TAG + "map"):
            return self._problem(node, f"the tag {quoted(node.tag)} has no meaning here; delete it", "yaml-tag")
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return dict(self._items(node, path))

    def _items(self, node: yaml.Node, path: KeyPath) -> Iterator[tuple[str, Value]]:
        first: dict[str, Mark] = {}
        for key, item in node.value:
            name = self._key(key)
            if name is None:
                continue
            if name in first:
                line, column = first[name]
                message = f"the key {quoted(name)} is written twice, first at line {line}, column {column}; keep one"
                self._problem(key, message, "duplicate-key")
                continue
            below = (*path, name)
            first[name] = self._document.keys[below] = _mark(key)
            value = self._value(item, below)
            if value is None or name in _PROSE:
                self._eaten(name, key, item)
            yield name, value

    def _eaten(self, name: str, key: yaml.ScalarNode, item: yaml.Node) -> None:
        """Warns of ``description: #1 topic``, where a comment begins that was meant as text."""
        if not isinstance(item, yaml.ScalarNode) or item.style in ("|", ">"):
            return
        mark = item.end_mark if item.value else key.end_mark
        if found := _COMMENT.match(self._text, mark.index):
            place = Location(self._document.file, mark.line + 1, mark.column + 1 + found.start(1) - mark.index)
            seen = "empty" if item.value == "" else f"only {quoted(item.value)}"
            message = (
                f"{name} is {seen}, as {quoted(found[1].strip())} is a comment; put the value in quotes if it is meant"
            )
            self._document.warnings.append(Problem(place, message, "yaml-comment", Level.WARNING))

    def _key(self, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            kind = "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"
            remedy = "" if kind == "a list" else "; if {{ }} is a template's, fill it in"
            self._problem(node, f"expected text as a key, seen {kind}{remedy}", "key-type")
        elif node.tag != TAG + "str":
            message = f"expected text as a key, seen {quoted(node.value)}; put it in quotes if it is meant"
            self._problem(node, message, "key-type")
        elif node.value == "<<":
            message = "the merge key << is not of YAML 1.2; put what is shared in a _defaults.yaml"
            self._problem(node, message, "yaml-merge")
        else:
            return str(node.value)
        return None

    def _scalar(self, node: yaml.ScalarNode) -> Value:
        text: str = node.value
        if node.tag == TAG + "str":
            return text
        pattern = PATTERNS.get(node.tag)
        if pattern is None:
            return self._problem(node, f"the tag {quoted(node.tag)} has no meaning here; delete it", "yaml-tag")
        if not pattern.match(text):
            name = node.tag.removeprefix(TAG)
            return self._problem(node, f"the tag !!{name} does not fit the text {quoted(text)}; delete it", "yaml-tag")
        if node.tag == TAG + "null":
            return None
        if node.tag == TAG + "bool":
            return text.lower() == "true"
        return int(text) if node.tag == TAG + "int" else float(text)

    def _once(self, node: yaml.Node, message: str, rule: str) -> None:
        if not any(problem.rule == rule for problem in self._document.problems):
            self._problem(node, message, rule)

    def _problem(self, node: yaml.Node, message: str, rule: str) -> None:
        self._document.problems.append(Problem(Location(self._document.file, *_mark(node)), message, rule))


def _mark(node: yaml.Node) -> Mark:
    mark = node.start_mark
    return mark.line + 1, mark.column + 1


def _locate(before: str, file: str) -> Location:
    lines = LINE_BREAK.split(before)
    return Location(file, len(lines), len(lines[-1]) + 1)


def _too_long(text: str, file: str) -> Location | None:
    for number, line in enumerate(LINE_BREAK.split(text), start=1):
        if len(line) > MAX_LINE:
            return Location(file, number, MAX_LINE + 1)
    return None
