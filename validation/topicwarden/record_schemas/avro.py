"""Check Avro schemas by the rules of Avro's specification that its Java library enforces."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from topicwarden.model.message_text import quoted
from topicwarden.record_schemas.json_text import JsonError, parse
from topicwarden.record_schemas.referenced_schemas import References, unknown_names

_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_NAMED_KINDS: Final = ("record", "error", "enum", "fixed")
_UNKNOWN: Final = "unknown"
"""The kind of a type of another subject whose schema is not known."""
_INT: Final = range(-(2**31), 2**31)
_LONG: Final = range(-(2**63), 2**63)


class _SchemaError(ValueError):
    """An error of a schema. The message follows "is not an Avro schema:"."""


@dataclass(frozen=True)
class _Type:
    """A compiled schema: its ``kind``, its full name (or its kind, if it has no name), and its components."""

    kind: str
    name: str
    parts: list[_Type] = field(default_factory=list)
    """The types of the fields, of the items or values, or of the branches."""
    fields: dict[str, Any] = field(default_factory=dict)
    """The default of each field of a record; ``...`` for a field without a default."""
    symbols: tuple[str, ...] = ()
    size: int = 0


class _NamedTypes(dict[str, _Type]):
    """The types defined before, by full name. Unknown references may define any other name."""

    def __init__(self, references: References | None) -> None:
        super().__init__()
        self.in_registry = references is not None
        self.open = bool(unknown_names(references))


def schema_error(text: str, references: References | None = None) -> str | None:
    """Return the error if ``text`` is not an Avro schema, else None. It continues a sentence with the file's name.

    The schema may use the named types of ``references``.
    """
    named_types = _NamedTypes(references)
    try:
        for name, referenced in references or ():
            if referenced is not None:
                _compile_reference(name, referenced, named_types)
        _compile(parse(text), named_types, "")
    except JsonError as error:
        return str(error)
    except _SchemaError as error:
        return f"is not an Avro schema: {error}"
    return None


def _compile_reference(name: str, text: str, named_types: _NamedTypes) -> None:
    try:
        _compile(parse(text), named_types, "")
    except (JsonError, _SchemaError) as error:
        raise _SchemaError(f"the referenced schema {quoted(name)}: {error}") from error
    if name not in named_types:
        raise _SchemaError(f"the referenced schema does not define {quoted(name)}; name a type that it defines")


def record_name(text: str) -> str | None:
    """Return the full name of the record that ``text`` defines; None if it is not the schema of a record."""
    try:
        schema = parse(text)
        is_record = isinstance(schema, dict) and schema.get("type") in ("record", "error")
        return _full_name(schema, "record", "")[0] if is_record else None
    except (JsonError, _SchemaError):
        return None


def _compile(schema: Any, named_types: _NamedTypes, namespace: str) -> _Type:
    """Compile a part of a schema within ``namespace``. ``named_types`` are the types defined before, by name."""
    if isinstance(schema, str):
        return _reference(schema, named_types, namespace)
    if isinstance(schema, list):
        return _union(schema, named_types, namespace)
    if not isinstance(schema, dict) or "type" not in schema:
        raise _SchemaError("every part needs a type")
    kind = schema["type"]
    if kind in _NAMED_KINDS:
        return _definition(schema, kind, named_types, namespace)
    if kind in ("array", "map"):
        items_key = "items" if kind == "array" else "values"
        if items_key not in schema:
            raise _SchemaError(f"every {kind} needs {items_key}")
        return _Type(kind, kind, [_compile(schema[items_key], named_types, namespace)])
    if not isinstance(kind, str):
        raise _SchemaError(
            "expected the name of a type under type, got a schema; replace the whole part by this schema"
        )
    return _reference(kind, named_types, namespace)


def _reference(name: str, named_types: _NamedTypes, namespace: str) -> _Type:
    if name in _PRIMITIVES:
        return _Type(name, name)
    full_name = name if "." in name or not namespace else f"{namespace}.{name}"
    if full_name not in named_types:
        if named_types.open:
            return _Type(_UNKNOWN, full_name)
        remedy = "; if another subject defines it, add it to references" if named_types.in_registry else ""
        raise _SchemaError(f"there is no type {quoted(name)}{remedy}")
    return named_types[full_name]


def _union(branches: list[Any], named_types: _NamedTypes, namespace: str) -> _Type:
    types = [_compile(branch, named_types, namespace) for branch in branches]
    names = [schema_field.name for schema_field in types]
    if not types or "union" in names:
        raise _SchemaError("a union needs branches, and none of them may be a union")
    if duplicate := _first_duplicate(names):
        raise _SchemaError(f"a union has the branch {quoted(duplicate)} twice")
    return _Type("union", "union", types)


def _definition(schema: dict[str, Any], kind: str, named_types: _NamedTypes, namespace: str) -> _Type:
    name, namespace = _full_name(schema, kind, namespace)
    if name in named_types:
        raise _SchemaError(f"{quoted(name)} is defined twice")
    _require_names(schema.get("aliases", []), f"aliases of {quoted(name)}", dotted=True)
    if kind == "enum":
        symbols = _require_names(schema.get("symbols"), f"symbols of {quoted(name)}")
        if "default" in schema and schema["default"] not in symbols:
            raise _SchemaError(f"the default of {quoted(name)} is not one of its symbols")
        definition = _Type(kind, name, symbols=tuple(symbols))
    elif kind == "fixed":
        size = schema.get("size")
        if isinstance(size, bool) or not isinstance(size, int) or size not in _INT or size < 0:
            raise _SchemaError(f"{quoted(name)} needs a size in bytes")
        definition = _Type(kind, name, size=size)
    else:
        definition = named_types[name] = _Type(kind, name)
        _add_fields(definition, schema.get("fields"), named_types, namespace)
    named_types[name] = definition
    return definition


def _full_name(schema: dict[str, Any], kind: str, namespace: str) -> tuple[str, str]:
    """Return the full name of a definition, and the namespace of the types in it."""
    name_text, namespace = schema.get("name"), schema.get("namespace", namespace)
    if not isinstance(name_text, str) or not name_text:
        raise _SchemaError(f"every {kind} needs a name")
    if not isinstance(namespace, str):
        raise _SchemaError(f"expected the namespace of {quoted(name_text)} as text")
    namespace = name_text.rpartition(".")[0] if "." in name_text else namespace
    name = name_text.rpartition(".")[2]
    if not all(_NAME.fullmatch(part) for part in (name, *(namespace.split(".") if namespace else ()))):
        raise _SchemaError(f"{quoted(f'{namespace}.{name}' if namespace else name)} is not a valid name")
    if name in _PRIMITIVES or name in (*_NAMED_KINDS, "array", "map", "union"):
        raise _SchemaError(f"{quoted(name)} is a reserved name; choose another name")
    return (f"{namespace}.{name}" if namespace else name), namespace


def _require_names(names: Any, label: str, *, dotted: bool = False) -> list[str]:
    """Return ``names`` if they are valid and unique; raise _SchemaError otherwise. ``dotted`` allows namespaces."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _SchemaError(f"expected the {label} as a list of names")
    for name in names:
        if not all(_NAME.fullmatch(part) for part in (name.split(".") if dotted else [name])):
            raise _SchemaError(f"among the {label}, {quoted(name)} is not a valid name")
    if duplicate := _first_duplicate(names):
        raise _SchemaError(f"among the {label}, {quoted(duplicate)} appears twice")
    return names


def _first_duplicate(names: list[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _add_fields(record: _Type, fields: Any, named_types: _NamedTypes, namespace: str) -> None:
    if not isinstance(fields, list) or not all(isinstance(schema_field, dict) for schema_field in fields):
        raise _SchemaError(f"expected a list of fields with names in {quoted(record.name)}")
    for schema_field in fields:
        name = schema_field.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _SchemaError(f"expected a list of fields with names in {quoted(record.name)}")
        label = f"{quoted(name)} of {quoted(record.name)}"
        if name in record.fields:
            raise _SchemaError(f"the field {label} is defined twice")
        _require_names(schema_field.get("aliases", []), f"aliases of {label}")
        if schema_field.get("order", "ascending") not in ("ascending", "descending", "ignore"):
            raise _SchemaError(f"the order of {label} is not ascending, descending or ignore")
        kind = _compile(schema_field.get("type"), named_types, namespace)
        record.parts.append(kind)
        record.fields[name] = schema_field.get("default", ...)
        if "default" in schema_field and not _is_valid_default(kind, schema_field["default"]):
            raise _SchemaError(f"the default of {label} is not a valid {kind.kind}")


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


def _is_valid_default(kind: _Type, value: Any) -> bool:
    """Return whether ``value`` is a valid default of a field of this type."""
    if kind.kind == _UNKNOWN:
        return True
    if kind.kind in _PRIMITIVE_DEFAULTS:
        return _PRIMITIVE_DEFAULTS[kind.kind](value)
    if kind.kind in ("array", "map"):
        items = value.values() if isinstance(value, dict) else value
        return isinstance(value, list if kind.kind == "array" else dict) and all(
            _is_valid_default(kind.parts[0], item) for item in items
        )
    if kind.kind in ("record", "error"):
        return isinstance(value, dict) and all(
            _is_valid_default(part, value[name]) if name in value else default is not ...
            for part, (name, default) in zip(kind.parts, kind.fields.items(), strict=True)
        )
    if kind.kind == "fixed":
        return _PRIMITIVE_DEFAULTS["bytes"](value) and len(value) == kind.size
    return (
        value in kind.symbols if kind.kind == "enum" else any(_is_valid_default(branch, value) for branch in kind.parts)
    )
