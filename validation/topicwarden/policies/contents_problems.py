"""Problems in a topic's ``contents`` that are visible without records: schema files, expressions and partitioner.

The audit compiles schemas with the same code (``specs/record_schemas``), so a schema that passes here compiles there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from topicwarden.model.problem import Problem
from topicwarden.policies.expressions import CelError, compile_record_expression
from topicwarden.specs.record_schemas import COMPILERS
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import schema_path
from topicwarden.specs.yaml_nodes import KeyPath

RULE: Final = "contents"
MAX_BYTES: Final = 1 << 20

_PARTITIONER_SETTINGS: Final = ("partitioner", "partition_expression", "partition_function")


def contents_problems(declarations: Iterable[Declaration], root: Path) -> Iterator[Problem]:
    """Yield the problems in ``contents`` of each declaration, at the values. ``root`` is the project's folder."""
    for declaration in declarations:
        for path, message in _messages(declaration, root):
            yield Problem(declaration.places.at(path), message, RULE)


def _messages(declaration: Declaration, root: Path) -> Iterator[tuple[KeyPath, str]]:
    contents = declaration.topic.contents
    for part in ("key", "value"):
        yield from _format_messages(declaration, part, root)
    declared = [name for name in _PARTITIONER_SETTINGS if getattr(contents, name)]
    if len(declared) > 1:
        message = f"expected one partitioner, seen {' and '.join(declared)}; keep one, and write null for the others"
        yield ("contents", "key", declared[1]), message
    seen: set[str] = set()
    for number, expression in enumerate(contents.expressions):
        if expression.id in seen:
            message = f"the expression {expression.id} is declared twice; keep one"
            yield ("contents", "expressions", number, "id"), message
        seen.add(expression.id)
        if error := _cel_error(expression.require):
            yield ("contents", "expressions", number, "require"), f"{expression.id}: {error}"


def _format_messages(declaration: Declaration, part: str, root: Path) -> Iterator[tuple[KeyPath, str]]:
    """Yield the problems of format and schema. ``part`` is ``key`` or ``value``."""
    contents, parent = declaration.topic.contents, ("contents", part)
    settings: Mapping[str, Any] = {
        name: getattr(contents, f"{part}_{name}") for name in ("format", "schema", "message", "registry", "subject")
    }
    encoding, schema, registry = settings["format"], settings["schema"], settings["registry"]
    if (schema or registry) and encoding not in COMPILERS:
        key = "schema" if schema else "registry"
        yield (*parent, key), f"{key} needs a format that has schemas; write format: {', '.join(COMPILERS)}"
        return
    if schema and registry and encoding != "avro":
        yield (
            (*parent, "schema"),
            f"with registry: true, {encoding} records are validated against the registry's schema; delete schema",
        )
    if settings["message"] and not (encoding == "protobuf" and schema):
        yield (
            (*parent, "message"),
            "message names a message type of a .proto schema; write format: protobuf and schema: FILE, or delete it",
        )
    if settings["subject"] and not registry:
        yield (*parent, "subject"), "subject names a subject of the schema registry; write registry: true, or delete it"
    if encoding in ("avro", "protobuf") and not schema and not registry:
        yield (*parent, "format"), f"{encoding} cannot be read without a schema; write schema: FILE, or registry: true"
    path = schema_path(declaration, part)
    if path and (error := _schema_error(root / path, root, encoding, settings["message"])):
        yield (*parent, "schema"), f"{path} {error}"


@cache
def _cel_error(text: str) -> str | None:
    try:
        compile_record_expression(text)
    except CelError as error:
        return str(error)
    return None


@cache
def _schema_error(file: Path, root: Path, encoding: str, message_type: str | None) -> str | None:
    """Return the error of a schema file, as the text that follows its name in a message; None if it is valid."""
    if not Path(os.path.realpath(file)).is_relative_to(root.resolve()):
        return "is outside the project; move the schema into the project"
    try:
        if file.stat().st_size > MAX_BYTES:
            return f"is larger than {MAX_BYTES} bytes; expected a schema"
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return "is not UTF-8; save it as UTF-8"
    except OSError as error:
        return f"cannot be read: {error.strerror}; the path is relative to the YAML file that names it"
    return COMPILERS[encoding](text, message_type)
