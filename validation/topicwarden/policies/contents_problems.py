"""What of a topic's ``contents`` can be judged without a record: its schema files, expressions and partitioner.

A schema that is accepted here compiles in the audit's reader too (``specs/record_schemas``).
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

_OWN: Final = ("partitioner", "partition_expression", "partition_function")


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
    if (held["schema"] or held["registry"]) and kind not in COMPILERS:
        which = "schema" if held["schema"] else "registry"
        yield (*above, which), f"a {which} needs a format with schemas: write format: {', '.join(COMPILERS)}"
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
    return COMPILERS[kind](text, message)
