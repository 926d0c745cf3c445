"""The text of ``access:`` of a topic's file, and new entries in it that keep every other byte of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, Final

import yaml
from pydantic import BaseModel, ValidationError

from topicwarden.kinds.acl.spec import ConsumeSpec, OperationsSpec, ProduceSpec, operations_yaml
from topicwarden.model.access import NO_TOPIC_ACCESS, WILDCARD, Grant, TopicAccess
from topicwarden.model.units import DURATION
from topicwarden.specs.text_edits import ORDER, TextEdit, apply_edits, last_line
from topicwarden.specs.validation_errors import first_message
from topicwarden.specs.write.yaml_values import quoted_scalar, yaml_scalar
from topicwarden.specs.yaml_core_schema import compose
from topicwarden.specs.yaml_nodes import KeyPath

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./:@=+-]*")
OTHER_SPELLING: Final = "Kafka compares addresses as text, and no client has this spelling of one"
"""Why a host cannot be declared that the YAML would read in another spelling."""


def declarable(access: TopicAccess) -> tuple[TopicAccess, list[str]]:
    """Return the part of a topic's access that YAML can declare, and why each other part cannot be declared."""
    refused: list[str] = []

    def kept(model: type[BaseModel], entries: Iterable[Any], as_yaml: Any) -> list[Any]:
        return [entry for entry in entries if not _refused_entry(model, as_yaml(entry), entry.host, refused)]

    return (
        TopicAccess(
            tuple(kept(ProduceSpec, access.produce, lambda each: _grant(each, "transactional_id"))),
            tuple(kept(ConsumeSpec, access.consume, lambda each: _grant(each, "group"))),
            tuple(kept(OperationsSpec, access.acls, operations_yaml)),
        ),
        refused,
    )


def _refused_entry(model: type[BaseModel], entry: dict[str, Any], host: str, refused: list[str]) -> bool:
    """Return whether ``model`` does not accept ``entry``, or changes its host; add the reason to ``refused``."""
    try:
        read = model.model_validate(entry)
    except ValidationError as error:
        refused.append(f"{flow(entry)}: {first_message(error)}")
        return True
    if getattr(read, "host", host) != host:
        refused.append(f"{flow(entry)}: {OTHER_SPELLING}")
        return True
    return False


def topic_access_lines(access: TopicAccess, inherited: TopicAccess = NO_TOPIC_ACCESS) -> Iterator[str]:
    """Yield the lines of ``access:`` of a topic; none if its access is what it inherits anyway."""
    if access == inherited:
        return
    yield "access:"
    produce = [_short(_grant(each, "transactional_id")) for each in access.produce]
    consume = [_short(_grant(each, "group")) for each in access.consume]
    yield from _list("produce", produce, unset=bool(inherited.produce))
    yield from _list("consume", consume, unset=bool(inherited.consume))
    yield from _list("acls", [operations_yaml(each) for each in access.acls], unset=bool(inherited.acls))


def _grant(grant: Grant, key: str) -> dict[str, Any]:
    return {
        "principal": grant.principal,
        **({key: grant.name} if grant.name is not None else {}),
        **({"prefix": True} if grant.prefix else {}),
        **({"host": grant.host} if grant.host != WILDCARD else {}),
        **({"max_lag": DURATION.format(grant.max_lag)} if grant.max_lag is not None else {}),
    }


def grant_text(grant: Grant, consumes: bool) -> str:
    """Return an entry of ``consume`` or ``produce`` in one line: ``{principal: User:billing, group: billing}``."""
    return flow(_short(_grant(grant, "group" if consumes else "transactional_id")))


def _short(entry: dict[str, Any]) -> Any:
    return entry["principal"] if len(entry) == 1 else entry


def _list(key: str, entries: list[Any], *, unset: bool) -> Iterator[str]:
    """Yield the lines of a list below ``access:``. An empty list has one only to ``unset`` inherited entries."""
    if entries:
        yield f"{_INDENT}{key}:"
        yield from (f"{_INDENT}  - {flow(entry)}" for entry in entries)
    elif unset:
        yield f"{_INDENT}{key}: []"


def flow(value: Any) -> str:
    """Return ``value`` as YAML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{yaml_key(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return yaml_key(value) if isinstance(value, str) else json.dumps(value)


def yaml_key(text: str) -> str:
    """Return ``text`` as a key, or as a value in one line."""
    plain = _PLAIN.fullmatch(text) and not text.endswith(":") and yaml_scalar(text) == text
    return text if plain else quoted_scalar(text)


_INDENT: Final = "  "
_DOCUMENT: Final = re.compile(r"---(\s|$)")
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
    lines = list(StringIO(text, newline=""))  # breaks lines where YAML does
    end = next((number for number in range(line, len(lines)) if _DOCUMENT.match(lines[number])), len(lines))
    before, document, after = ("".join(each) for each in (lines[: line - 1], lines[line - 1 : end], lines[end:]))
    for key, items in entries.items():
        edited = _with_items(document, (*section, "access", key), items)
        if edited is None:
            return None
        document = edited
    return byte_order_mark + (before + document + after).encode("utf-8")


def _with_items(text: str, path: KeyPath, items: Sequence[str]) -> str | None:
    """Return the document ``text`` with ``items`` at the end of the list at ``path``; None as above."""
    root = next(iter(compose(text)), None)
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
