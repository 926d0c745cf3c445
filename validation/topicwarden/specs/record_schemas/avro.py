"""Avro schemas, by the rules of Avro's specification that its Java library enforces."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from topicwarden.specs.message_text import quoted
from topicwarden.specs.record_schemas.json_text import JsonError, parse

_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NAMED: Final = ("record", "error", "enum", "fixed")
_INT: Final = range(-(2**31), 2**31)
_LONG: Final = range(-(2**63), 2**63)


class _SchemaError(ValueError):
    """What is wrong with a schema, to be said after "is no Avro schema:"."""


@dataclass(frozen=True)
class _Type:
    """A schema: its ``kind``; its full name if it has one, else its kind; and what its values are made of."""

    kind: str
    name: str
    parts: list[_Type] = field(default_factory=list)
    """The fields' types, the items' or values' type, or the branches."""
    fields: dict[str, Any] = field(default_factory=dict)
    """The default of each field of a record; ``...`` if it has none."""
    symbols: tuple[str, ...] = ()
    size: int = 0


def schema_error(text: str) -> str | None:
    """Return why ``text`` is no Avro schema, to be said after the name of its file, or None."""
    try:
        _compile(parse(text), {}, "")
    except JsonError as error:
        return str(error)
    except _SchemaError as error:
        return f"is no Avro schema: {error}"
    return None


def _compile(schema: Any, named: dict[str, _Type], space: str) -> _Type:
    """Compile a part of a schema whose named types so far are ``named``, within the namespace ``space``."""
    if isinstance(schema, str):
        return _reference(schema, named, space)
    if isinstance(schema, list):
        return _union(schema, named, space)
    if not isinstance(schema, dict) or "type" not in schema:
        raise _SchemaError("expected a type in every part")
    kind = schema["type"]
    if kind in _NAMED:
        return _definition(schema, kind, named, space)
    if kind in ("array", "map"):
        below = "items" if kind == "array" else "values"
        if below not in schema:
            raise _SchemaError(f"expected {below} in every {kind}")
        return _Type(kind, kind, [_compile(schema[below], named, space)])
    if not isinstance(kind, str):
        raise _SchemaError("expected the name of a type under type, seen another schema; write it in its place")
    return _reference(kind, named, space)


def _reference(name: str, named: dict[str, _Type], space: str) -> _Type:
    if name in _PRIMITIVES:
        return _Type(name, name)
    full = name if "." in name or not space else f"{space}.{name}"
    if full not in named:
        raise _SchemaError(f"there is no type {quoted(name)}")
    return named[full]


def _union(branches: list[Any], named: dict[str, _Type], space: str) -> _Type:
    types = [_compile(branch, named, space) for branch in branches]
    names = [one.name for one in types]
    if not types or "union" in names:
        raise _SchemaError("a union has branches, and no union among them")
    if twice := next((name for number, name in enumerate(names) if name in names[:number]), None):
        raise _SchemaError(f"a union has the branch {quoted(twice)} twice")
    return _Type("union", "union", types)


def _definition(schema: dict[str, Any], kind: str, named: dict[str, _Type], space: str) -> _Type:
    name, space = _full_name(schema, kind, space)
    if name in named:
        raise _SchemaError(f"{quoted(name)} is defined twice")
    _require_names(schema.get("aliases", []), f"aliases of {quoted(name)}", dotted=True)
    if kind == "enum":
        symbols = _require_names(schema.get("symbols"), f"symbols of {quoted(name)}")
        if "default" in schema and schema["default"] not in symbols:
            raise _SchemaError(f"the default of {quoted(name)} is none of its symbols")
        made = _Type(kind, name, symbols=tuple(symbols))
    elif kind == "fixed":
        size = schema.get("size")
        if isinstance(size, bool) or not isinstance(size, int) or size not in _INT or size < 0:
            raise _SchemaError(f"expected a size of {quoted(name)}, in bytes")
        made = _Type(kind, name, size=size)
    else:
        made = named[name] = _Type(kind, name)
        _add_fields(made, schema.get("fields"), named, space)
    named[name] = made
    return made


def _full_name(schema: dict[str, Any], kind: str, space: str) -> tuple[str, str]:
    """The full name of a definition, and the namespace of what is within it."""
    written, namespace = schema.get("name"), schema.get("namespace", space)
    if not isinstance(written, str) or not written:
        raise _SchemaError(f"expected a name of every {kind}")
    if not isinstance(namespace, str):
        raise _SchemaError(f"expected the namespace of {quoted(written)} as a text")
    space = written.rpartition(".")[0] if "." in written else namespace
    name = written.rpartition(".")[2]
    if not all(_NAME.fullmatch(part) for part in (name, *(space.split(".") if space else ()))):
        raise _SchemaError(f"{quoted(f'{space}.{name}' if space else name)} is no name")
    if name in _PRIMITIVES or name in (*_NAMED, "array", "map", "union"):
        raise _SchemaError(f"{quoted(name)} is the name of a kind of type; expected another name")
    return (f"{space}.{name}" if space else name), space


def _require_names(names: Any, what: str, *, dotted: bool = False) -> list[str]:
    """Return a list of different names."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _SchemaError(f"expected the {what} as a list of names")
    for number, name in enumerate(names):
        if not all(_NAME.fullmatch(part) for part in (name.split(".") if dotted else [name])):
            raise _SchemaError(f"among the {what}, {quoted(name)} is no name")
        if name in names[:number]:
            raise _SchemaError(f"among the {what}, {quoted(name)} is there twice")
    return names


def _add_fields(record: _Type, fields: Any, named: dict[str, _Type], space: str) -> None:
    if not isinstance(fields, list) or not all(isinstance(one, dict) for one in fields):
        raise _SchemaError(f"expected fields, each with a name, in {quoted(record.name)}")
    for one in fields:
        name = one.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _SchemaError(f"expected fields, each with a name, in {quoted(record.name)}")
        what = f"{quoted(name)} of {quoted(record.name)}"
        if name in record.fields:
            raise _SchemaError(f"the field {what} is there twice")
        _require_names(one.get("aliases", []), f"aliases of {what}")
        if one.get("order", "ascending") not in ("ascending", "descending", "ignore"):
            raise _SchemaError(f"the order of {what} is neither ascending nor descending nor ignore")
        kind = _compile(one.get("type"), named, space)
        record.parts.append(kind)
        record.fields[name] = one.get("default", ...)
        if "default" in one and not _fits(kind, one["default"]):
            raise _SchemaError(f"the default of {what} is no {kind.kind}")


_PRIMITIVE_DEFAULTS: Final[dict[str, Callable[[Any], bool]]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "int": lambda value: type(value) is int and value in _INT,
    "long": lambda value: type(value) is int and value in _LONG,
    "float": lambda value: type(value) in (int, float),
    "double": lambda value: type(value) in (int, float),
    "string": lambda value: isinstance(value, str),
    "bytes": lambda value: isinstance(value, str) and all(ord(character) < 256 for character in value),
}


def _fits(kind: _Type, value: Any) -> bool:
    """Whether a default is a value of its type."""
    if kind.kind in _PRIMITIVE_DEFAULTS:
        return _PRIMITIVE_DEFAULTS[kind.kind](value)
    if kind.kind in ("array", "map"):
        items = value.values() if isinstance(value, dict) else value
        return isinstance(value, list if kind.kind == "array" else dict) and all(
            _fits(kind.parts[0], item) for item in items
        )
    if kind.kind in ("record", "error"):
        return isinstance(value, dict) and all(
            _fits(part, value[name]) if name in value else default is not ...
            for part, (name, default) in zip(kind.parts, kind.fields.items(), strict=True)
        )
    if kind.kind == "fixed":
        return _PRIMITIVE_DEFAULTS["bytes"](value) and len(value) == kind.size
    return value in kind.symbols if kind.kind == "enum" else any(_fits(branch, value) for branch in kind.parts)
