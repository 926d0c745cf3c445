"""What of a topic's ``contents`` can be judged without a record: its schema files, expressions and partitioner.

A schema is read as far as that needs no JVM: that it is there, is JSON or a ``.proto``, and refers to nothing outside.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from topicwarden.policies.expressions import CelError, compile_record_expression
from topicwarden.problem import Problem
from topicwarden.specs.contents import schema_path
from topicwarden.specs.nodes import KeyPath
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.words import quoted

RULE: Final = "contents"
MAX_BYTES: Final = 1 << 20

_OWN: Final = ("partitioner", "partition_expression", "partition_function")
_AVRO: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


def contents_problems(declarations: Iterable[Declaration], root: Path) -> Iterator[Problem]:
    """What is wrong with the contents of ``declarations``, at the values; ``root`` is the project's folder."""
    for declaration in declarations:
        for path, message in _wrong(declaration, root):
            yield Problem(declaration.places.at(path), message, RULE)


def _wrong(declaration: Declaration, root: Path) -> Iterator[tuple[KeyPath, str]]:
    contents = declaration.topic.contents
    for part in ("key", "value"):
        yield from _encoding(declaration, part, root)
    ways = [name for name in _OWN if getattr(contents, name)]
    if len(ways) > 1:
        message = f"expected one way to place keys, seen {' and '.join(ways)}; keep one, and write null for the others"
        yield ("contents", "key", ways[1]), message
    seen: set[str] = set()
    for number, expression in enumerate(contents.expressions):
        if expression.id in seen:
            message = f"the expression {expression.id} is written twice; keep one"
            yield ("contents", "expressions", number, "id"), message
        seen.add(expression.id)
        if error := _cel_error(expression.require):
            yield ("contents", "expressions", number, "require"), f"{expression.id}: {error}"


def _encoding(declaration: Declaration, part: str, root: Path) -> Iterator[tuple[KeyPath, str]]:
    contents, above = declaration.topic.contents, ("contents", part)
    held: Mapping[str, Any] = {
        name: getattr(contents, f"{part}_{name}") for name in ("format", "schema", "message", "registry", "subject")
    }
    kind = held["format"]
    if (held["schema"] or held["registry"]) and kind not in _READERS:
        which = "schema" if held["schema"] else "registry"
        yield (*above, which), f"a {which} needs a format with schemas: write format: {', '.join(_READERS)}"
        return
    if held["schema"] and held["registry"] and kind != "avro":
        yield (*above, "schema"), f"with registry: true, {kind} is judged by the registry's schema; delete the schema"
    if held["message"] and not (kind == "protobuf" and held["schema"]):
        yield (*above, "message"), "a message is one of a .proto: write format: protobuf and its schema, or delete it"
    if held["subject"] and not held["registry"]:
        yield (*above, "subject"), "a subject is the registry's: write registry: true, or delete it"
    if kind in ("avro", "protobuf") and not held["schema"] and not held["registry"]:
        yield (*above, "format"), f"{kind} cannot be read without a schema; write schema: FILE, or registry: true"
    if (path := schema_path(declaration, part)) and (error := _schema_error(root / path, root, kind, held["message"])):
        yield (*above, "schema"), f"{path} {error}"


@cache
def _cel_error(text: str) -> str | None:
    try:
        compile_record_expression(text)
    except CelError as error:
        return str(error)
    return None


@cache
def _schema_error(file: Path, root: Path, kind: str, message: str | None) -> str | None:
    """What is wrong with a schema's file, to be said after its name."""
    if not Path(os.path.realpath(file)).is_relative_to(root.resolve()):
        return "lies outside of the project; put the schema into it"
    try:
        if file.stat().st_size > MAX_BYTES:
            return f"is larger than {MAX_BYTES} bytes; expected a schema"
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8; save it as UTF-8"
    except OSError as error:
        return f"cannot be read: {error.strerror}; the path is relative to the YAML file that names it"
    return _READERS[kind](text, message)


def _json_schema(text: str, _: str | None) -> str | None:
    try:
        schema = json.loads(text)
    except ValueError as error:
        return f"is not JSON: {error}"
    if not isinstance(schema, (dict, bool)):
        return "is no JSON Schema: expected a mapping"
    outside = next((reference for reference in _references(schema) if not reference.startswith("#")), None)
    return f"refers to {quoted(outside)}; put it under $defs, as nothing else is fetched" if outside else None


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, held in schema.items():
            if name == "$ref" and isinstance(held, str):
                yield held
            yield from _references(held)
    elif isinstance(schema, list):
        for held in schema:
            yield from _references(held)


def _avro_schema(text: str, _: str | None) -> str | None:
    try:
        schema = json.loads(text)
    except ValueError as error:
        return f"is not JSON: {error}"
    problem = _avro(schema, set(), "")
    return f"is no Avro schema: {problem}" if problem else None


def _avro(schema: Any, named: set[str], space: str) -> str | None:
    """What is wrong with a part of an Avro schema, whose names so far are ``named``, in the namespace ``space``."""
    if isinstance(schema, str):
        known = schema in _AVRO or schema in named or f"{space}.{schema}" in named
        return None if known else f"there is no type {quoted(schema)}"
    if isinstance(schema, list):
        return next(filter(None, (_avro(branch, named, space) for branch in schema)), None)
    if not isinstance(schema, dict) or "type" not in schema:
        return "expected a type in every part"
    kind = schema["type"]
    if kind in ("record", "error", "enum", "fixed"):
        return _avro_named(schema, kind, named, space)
    below = {"array": "items", "map": "values"}.get(kind) if isinstance(kind, str) else None
    return _avro(schema.get(below) if below else kind, named, space)


def _avro_named(schema: dict[str, Any], kind: str, named: set[str], space: str) -> str | None:
    name, space = str(schema.get("name", "")), str(schema.get("namespace", space))
    named |= {name, f"{space}.{name}"}
    fields = schema.get("fields", [] if kind in ("enum", "fixed") else None)
    if not name:
        return f"expected a name of every {kind}"
    if not isinstance(fields, list) or not all(isinstance(field, dict) and "name" in field for field in fields):
        return f"expected fields, each with a name, in {quoted(name)}"
    return next(filter(None, (_avro(field.get("type"), named, space) for field in fields)), None)


def _protobuf_schema(text: str, message: str | None) -> str | None:
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
    messages = re.findall(r"\bmessage\s+(\w+)\s*\{", plain)
    if not messages:
        return "is no .proto: expected a message"
    if message and message.rpartition(".")[2] not in messages:
        return f"has no message {quoted(message)}; it has {', '.join(messages)}"
    imports = re.findall(r'\bimport\s+(?:public\s+|weak\s+)?"([^"]+)"', plain)
    outside = next((name for name in imports if not name.startswith("google/protobuf/")), None)
    return f"imports {quoted(outside)}; put its messages here, as nothing else is read" if outside else None


_READERS: Final[Mapping[str, Callable[[str, str | None], str | None]]] = {
    "json": _json_schema,
    "avro": _avro_schema,
    "protobuf": _protobuf_schema,
}
