"""Read YAML documents as plain values with the position of each value and key, in one pass over libyaml's nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isinf
from typing import Any, Final, TypeAlias

import yaml

from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Level, Location, Problem
from topicwarden.specs.yaml_core_schema import MAX_DEPTH, PATTERNS, TAG, compose

KeyPath: TypeAlias = tuple[str | int, ...]
Value: TypeAlias = Any
Position: TypeAlias = tuple[int, int]

_UNSPACED_COMMENT: Final = re.compile(r":?[ \t]+(#[^\s#][^\r\n]*)")
"""A comment without a space after the ``#``, after a value or the colon of a key: probably part of the value."""
_PROSE_KEYS: Final = ("description", "reason", "message")
MAX_ALIASED: Final = 10_000
MAX_LINE: Final = 500_000
LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""The line breaks that libyaml counts, so that all locations agree with libyaml's."""
_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass
class ParsedDocument:
    """One document of a file: its plain value, and the positions (line, column) of its values and mapping keys.

    A path is a tuple of keys and list indices from the document's root, ``()``. ``problems`` are errors in the YAML
    itself. ``warnings`` are about valid YAML that is probably a mistake.
    """

    file: str
    value: Value = None
    values: dict[KeyPath, Position] = field(default_factory=dict)
    keys: dict[KeyPath, Position] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def at(self, path: KeyPath) -> Location:
        """Return the location of the value at ``path``; of its nearest existing parent if there is no such value."""
        while path not in self.values and path:
            path = path[:-1]
        return Location(self.file, *self.values.get(path, (1, 1)))

    def at_key(self, path: KeyPath) -> Location:
        """Return the location of the last key of ``path``; that of ``at`` if there is no such key."""
        return Location(self.file, *self.keys[path]) if path in self.keys else self.at(path)


UNREADABLE: Final = ("duplicate-key", "yaml-alias", "yaml-depth", "yaml-line", "yaml-merge")
"""Problems of the YAML itself; Pulumi accepts other things that declarations of topics may not have."""


def read_documents(data: bytes, file: str) -> tuple[list[ParsedDocument], list[Problem]]:
    """Return the documents of a YAML file, and the problem if it is not UTF-8 or has a syntax error.

    Documents before a syntax error are returned; empty documents are omitted. ``file`` is the path for messages.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        location = _end_location(data[: error.start].decode("utf-8-sig"), file)
        byte = f"byte 0x{data[error.start]:02x}"
        return [], [Problem(location, f"expected UTF-8, got {byte}; save the file as UTF-8", "yaml-encoding")]
    if match := _UNPRINTABLE.search(text):
        location = _end_location(text[: match.start()], file)
        return [], [Problem(location, f"U+{ord(match[0]):04X} is not allowed in YAML; delete it", "yaml-syntax")]
    if len(text) > MAX_LINE and (long_line := _overlong_line(text, file)):
        message = f"expected lines of at most {MAX_LINE:,} characters, got a longer one; split it"
        return [], [Problem(long_line, message, "yaml-line")]
    documents: list[ParsedDocument] = []
    try:
        for node in compose(text):
            document = _NodeReader(file, text).document(node)
            if document.value is not None or document.problems:
                documents.append(document)
    except yaml.MarkedYAMLError as error:
        return documents, [syntax_problem(error, text, file)]
    return documents, []


class _NodeReader:
    """Converts the nodes of one document to plain values, and collects their positions and problems."""

    def __init__(self, file: str, text: str) -> None:
        self._document = ParsedDocument(file)
        self._text = text
        self._visited: set[int] = set()
        self._aliased = 0

    def document(self, root: yaml.Node) -> ParsedDocument:
        self._document.value = self._value(root, ())
        return self._document

    def _value(self, node: yaml.Node, path: KeyPath) -> Value:
        self._document.values[path] = _position(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        if id(node) in self._visited:
            self._aliased += 1 + len(node.value)
        self._visited.add(id(node))
        if self._aliased > MAX_ALIASED:
            message = f"aliases expand to more than {MAX_ALIASED} values here; write the values out"
            return self._problem_once(node, message, "yaml-alias")
        if len(path) > MAX_DEPTH:
            message = f"this is nested more than {MAX_DEPTH} levels deep; flatten it, and remove aliases of a parent"
            return self._problem_once(node, message, "yaml-depth")
        if node.tag not in (TAG + "seq", TAG + "map"):
            return self._problem(node, f"the tag {quoted(node.tag)} is not supported; delete it", "yaml-tag")
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, index)) for index, item in enumerate(node.value)]
        return dict(self._items(node, path))

    def _items(self, node: yaml.Node, path: KeyPath) -> Iterator[tuple[str, Value]]:
        first: dict[str, Position] = {}
        for key, item in node.value:
            name = self._key(key)
            if name is None:
                continue
            if name in first:
                line, column = first[name]
                message = f"the key {quoted(name)} is written twice, first at line {line}, column {column}; keep one"
                self._problem(key, message, "duplicate-key")
                continue
            child = (*path, name)
            first[name] = self._document.keys[child] = _position(key)
            value = self._value(item, child)
            if (value is None or name in _PROSE_KEYS) and name != "password":
                self._warn_comment(name, key, item)
            yield name, value

    def _warn_comment(self, name: str, key: yaml.ScalarNode, item: yaml.Node) -> None:
        """Warn of a comment that was probably meant as the value, as in ``description: #1 topic``."""
        if not isinstance(item, yaml.ScalarNode) or item.style in ("|", ">"):
            return
        mark = item.end_mark if item.value else key.end_mark
        if match := _UNSPACED_COMMENT.match(self._text, mark.index):
            location = Location(self._document.file, mark.line + 1, mark.column + 1 + match.start(1) - mark.index)
            content = "empty" if item.value == "" else f"only {quoted(item.value)}"
            comment = quoted(match[1].strip())
            message = f"{name} is {content}, as {comment} is a comment; if it belongs to the value, quote the value"
            self._document.warnings.append(Problem(location, message, "yaml-comment", Level.WARNING))

    def _key(self, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            kind = "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"
            remedy = "" if kind == "a list" else "; if {{ }} is a template expression, render it"
            self._problem(node, f"expected text as a key, got {kind}{remedy}", "key-type")
        elif node.tag != TAG + "str":
            message = f"expected text as a key, got {quoted(node.value)}; put it in quotes"
            self._problem(node, message, "key-type")
        elif node.value == "<<":
            message = "the merge key << is not part of YAML 1.2; put shared settings in a _defaults.yaml"
            self._problem(node, message, "yaml-merge")
        else:
            return str(node.value)
        return None

    def _scalar(self, node: yaml.ScalarNode, path: KeyPath) -> Value:
        text: str = node.value
        if node.tag == TAG + "str":
            if "\0" in text:
                self._problem(node, "U+0000 is not allowed; delete it", "yaml-syntax")
            return text
        pattern = PATTERNS.get(node.tag)
        if pattern is None:
            return self._problem(node, f"the tag {quoted(node.tag)} is not supported; delete it", "yaml-tag")
        if not pattern.match(text):
            name = node.tag.removeprefix(TAG)
            return self._problem(node, f"the tag !!{name} does not fit the text {quoted(text)}; delete it", "yaml-tag")
        if node.tag == TAG + "null":
            return None
        if node.tag == TAG + "bool":
            return text.lower() == "true"
        return int(text) if node.tag == TAG + "int" else self._float(node, text, path)

    def _float(self, node: yaml.ScalarNode, text: str, path: KeyPath) -> Value:
        number = float(text)
        if isinf(number) and "inf" not in text.lower():
            key = next((f"{key}: " for key in reversed(path) if isinstance(key, str)), "")
            return self._problem(node, f"{key}expected a number below 1.8e308, got {quoted(text)}", "value")
        return number

    def _problem_once(self, node: yaml.Node, message: str, rule: str) -> None:
        if not any(problem.rule == rule for problem in self._document.problems):
            self._problem(node, message, rule)

    def _problem(self, node: yaml.Node, message: str, rule: str) -> None:
        self._document.problems.append(Problem(Location(self._document.file, *_position(node)), message, rule))


def _position(node: yaml.Node) -> Position:
    mark = node.start_mark
    return mark.line + 1, mark.column + 1


def _end_location(prefix: str, file: str) -> Location:
    lines = LINE_BREAK.split(prefix)
    return Location(file, len(lines), len(lines[-1]) + 1)


def _overlong_line(text: str, file: str) -> Location | None:
    for number, line in enumerate(LINE_BREAK.split(text), start=1):
        if len(line) > MAX_LINE:
            return Location(file, number, MAX_LINE + 1)
    return None


_CONFLICT: Final = re.compile(r"^[<>]{7} ", re.MULTILINE)
_ALIAS: Final = "put a value that begins with * or & in quotes, or write the name after it"
_REMEDIES: Final = {
    "undefined alias": "define it with & above, in the same document",
    "could not find expected ':'": "write the colon and a space after the key",
    "alphabetic or numeric character": _ALIAS,
    "invalid Unicode character escape code": "YAML has no surrogates; write the character itself, or \\U and 8 digits",
    "unknown escape character": "write \\\\ for a backslash, or use single quotes",
    "expected <document start>": "start another document with ---",
    "mapping values": "put a value that contains ': ' in quotes, and check the indentation",
}
"""Remedies by a part of libyaml's message."""
_REPORTED_LATE: Final = ("could not find expected ':'", "alphabetic or numeric character")
"""Messages that libyaml reports after the mistake, which is at the start of the key or the alias."""


def syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    """Return the Problem for a syntax error in ``text``, at the location where the mistake most likely is."""
    problem = error.problem or ""
    if start := _CONFLICT.search(text):
        message = "not YAML: a merge conflict; resolve it, and delete the lines with <<<<<<<, ======= and >>>>>>>"
        return Problem(Location(file, text.count("\n", 0, start.start()) + 1), message, "yaml-syntax")
    # libyaml reports an unclosed quote or bracket at the end of the file. Its start is the useful location.
    unclosed = error.context_mark and error.problem_mark and error.problem_mark.index >= len(text.rstrip())
    use_start = unclosed or any(part in problem for part in _REPORTED_LATE)
    mark = error.context_mark if use_start and error.context_mark else error.problem_mark or error.context_mark
    message = f"not YAML: {problem}{f' {error.context}' if error.context else ''}; {_remedy(problem, mark, text)}"
    return Problem(Location(file, mark.line + 1, mark.column + 1) if mark else Location(file), message, "yaml-syntax")


def _remedy(problem: str, mark: yaml.Mark | None, text: str) -> str:
    lines = text.splitlines()[max(0, mark.line - 1) : mark.line + 1] if mark else []
    line = lines[-1] if lines else ""
    before, after = (line[: mark.column], line[mark.column :]) if mark else ("", "")
    candidates = (
        ("\xa0" in "".join(lines), "U+00A0 here or just above looks like a space; replace it with a space"),
        ("\t" in line and "escape" not in problem, "this line contains a tab; indent with spaces"),
        (re.search(r"\{[{%]", line), "render the template expression that is left here"),
        *((part in problem, remedy) for part, remedy in _REMEDIES.items()),
        ("cannot start any token" in problem, f"put a value that begins with {after[:1]} in quotes"),
        (
            "expected key" in problem and re.search(r"""['"]\s*$""", before),
            "the quotes end before this; put the whole value in quotes of a kind that it does not contain",
        ),
    )
    default_remedy = "check the indentation, quotes and brackets here and just above"
    return next((remedy for applies, remedy in candidates if applies), default_remedy)
