"""Check Avro schemas as Avro's Java library reads them (``Schema.Parser`` of 1.12).

That is: comments, letters and digits of any script in names, ``"namespace": null``, types that are used before their
definition, and ``"NaN"`` as the default of a float. Refused on purpose, although Java reads them: a namespace that is
no text, or whose parts are no names, and a default of an enum that is neither text nor null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from topicwarden.model.message_text import quoted
from topicwarden.specs.record_schemas.json_text import JsonError, parse
from topicwarden.specs.record_schemas.referenced_schemas import References, unknown_names

PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*+"?)|//[^\r\n]*+|/\*.*?\*/', re.DOTALL)
_JAVA_DOUBLE: Final = re.compile(
    r"\s*[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)\s*", re.ASCII
)
"""The text that ``Double.valueOf`` reads, without hexadecimal numbers."""
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
        self.awaited: dict[str, str] = {}
        """The full names of types that are used before their definition, and the names as they are written."""
        self.defaults: list[tuple[_Type, Any, str]] = []
        """The type, the value and the label of each default. They are judged when all types are defined."""


def schema_error(text: str, references: References | None = None) -> str | None:
    """Return the error if ``text`` is not an Avro schema, else None. It continues a sentence with the file's name.

    The schema may use the named types of ``references``.
    """
    named_types = _NamedTypes(references)
    try:
        for name, referenced in references or ():
            if referenced is not None:
                _compile_reference(name, referenced, named_types)
        _compile(_parsed(text), named_types, "")
        _require_definitions(named_types)
    except JsonError as error:
        return str(error)
    except _SchemaError as error:
        return f"is not an Avro schema: {error}"
    return None


def _parsed(text: str) -> Any:
    """Return the JSON of a schema. Comments become spaces, so that locations stay."""
    blank = re.compile(r"[^\r\n]")
    return parse(_COMMENT.sub(lambda match: match[1] or blank.sub(" ", match[0]), text))


def _require_definitions(named_types: _NamedTypes) -> None:
    """Raise _SchemaError if a type that is used has no definition, or if a default does not fit its type."""
    for full_name, name in named_types.awaited.items():
        if full_name not in named_types and name not in named_types:
            remedy = "; if another subject defines it, add it to references" if named_types.in_registry else ""
            raise _SchemaError(f"there is no type {quoted(name)}{remedy}")
    for kind, default, label in named_types.defaults:
        if not _is_valid_default(kind, default, named_types):
            raise _SchemaError(f"the default of {label} is not a valid {kind.kind}")


def _compile_reference(name: str, text: str, named_types: _NamedTypes) -> None:
    try:
        _compile(_parsed(text), named_types, "")
    except (JsonError, _SchemaError) as error:
        raise _SchemaError(f"the referenced schema {quoted(name)}: {error}") from error
    if name not in named_types:
        raise _SchemaError(f"the referenced schema does not define {quoted(name)}; name a type that it defines")


def record_name(text: str) -> str | None:
    """Return the full name of the record that ``text`` defines; None if it is not the schema of a record."""
    try:
        schema = _parsed(text)
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
    if name in PRIMITIVES:
        return _Type(name, name)
    full_name = name if "." in name or not namespace else f"{namespace}.{name}"
    found = named_types.get(full_name, named_types.get(name))
    if found:
        return found
    if not named_types.open:
        named_types.awaited[full_name] = name
    return _Type(_UNKNOWN, full_name)


def _union(branches: list[Any], named_types: _NamedTypes, namespace: str) -> _Type:
    types = [_compile(branch, named_types, namespace) for branch in branches]
    if not types or any(branch.kind == "union" for branch in types):
        raise _SchemaError("a union needs branches, and none of them may be a union")
    if duplicate := _first_duplicate([branch.name for branch in types]):
        raise _SchemaError(f"a union has the branch {quoted(duplicate)} twice")
    return _Type("union", "union", types)


def _definition(schema: dict[str, Any], kind: str, named_types: _NamedTypes, namespace: str) -> _Type:
    name, namespace = _full_name(schema, kind, namespace)
    if name in named_types:
        raise _SchemaError(f"{quoted(name)} is defined twice")
    label = f"aliases of {quoted(name)}"
    _require_names([alias.removeprefix(".") for alias in _texts(schema.get("aliases", []), label)], label, dotted=True)
    if kind == "enum":
        label = f"symbols of {quoted(name)}"
        symbols = _require_names(_texts(schema.get("symbols"), label), label)
        if duplicate := _first_duplicate(symbols):
            raise _SchemaError(f"among the {label}, {quoted(duplicate)} appears twice")
        if schema.get("default") is not None and schema["default"] not in symbols:
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
    name_text, own_namespace = schema.get("name"), schema.get("namespace")
    namespace = namespace if own_namespace is None else own_namespace
    if not isinstance(name_text, str) or not name_text:
        raise _SchemaError(f"every {kind} needs a name")
    if not isinstance(namespace, str):
        raise _SchemaError(f"expected the namespace of {quoted(name_text)} as text")
    namespace = name_text.rpartition(".")[0] if "." in name_text else namespace
    name = name_text.rpartition(".")[2]
    if not all(_is_name(part) for part in (name, *(namespace.split(".") if namespace else ()))):
        raise _SchemaError(f"{quoted(f'{namespace}.{name}' if namespace else name)} is not a valid name")
    if name in PRIMITIVES and not namespace:
        raise _SchemaError(f"{quoted(name)} is a reserved name; choose another name")
    return (f"{namespace}.{name}" if namespace else name), namespace


def _is_name(text: str) -> bool:
    """Return whether ``text`` is a name: letters, digits and underscores of the Basic Multilingual Plane.

    Source: ``NameValidator.UTF_VALIDATOR``, the default of the parser.
    """
    letters = [character.isalpha() or character == "_" for character in text]
    known = zip(text, letters, strict=True)
    return letters[:1] == [True] and all(
        ord(character) < 0x10000 and (letter or character.isdecimal()) for character, letter in known
    )


def _texts(names: Any, label: str) -> list[str]:
    """Return ``names`` if they are a list of texts; raise _SchemaError otherwise."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _SchemaError(f"expected the {label} as a list of names")
    return names


def _require_names(names: list[str], label: str, *, dotted: bool = False) -> list[str]:
    """Return ``names`` if they are valid; raise _SchemaError otherwise. ``dotted`` allows namespaces."""
    for name in names:
        if not all(_is_name(part) for part in (name.split(".") if dotted else [name])):
            raise _SchemaError(f"among the {label}, {quoted(name)} is not a valid name")
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
        if not isinstance(name, str):
            raise _SchemaError(f"expected a list of fields with names in {quoted(record.name)}")
        label = f"{quoted(name)} of {quoted(record.name)}"
        if not _is_name(name):
            raise _SchemaError(f"the field {label} has no valid name; write letters, digits and _")
        if name in record.fields:
            raise _SchemaError(f"the field {label} is defined twice")
        _texts(schema_field.get("aliases", []), f"aliases of {label}")
        order = schema_field.get("order", "ascending")
        if not isinstance(order, str) or order.upper() not in ("ASCENDING", "DESCENDING", "IGNORE"):
            raise _SchemaError(f"the order of {label} is not ascending, descending or ignore")
        kind = _compile(schema_field.get("type"), named_types, namespace)
        record.parts.append(kind)
        record.fields[name] = schema_field.get("default", ...)
        if "default" in schema_field:
            default = schema_field["default"]
            if kind.kind in ("float", "double") and isinstance(default, str) and _JAVA_DOUBLE.fullmatch(default):
                default = 0.0  # Java reads such a text as a number, but only as the default of the field itself.
            named_types.defaults.append((kind, default, label))


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


def _is_valid_default(kind: _Type, value: Any, named_types: _NamedTypes) -> bool:
    """Return whether ``value`` is a valid default of a field of this type."""
    if kind.kind == _UNKNOWN:
        found = named_types.get(kind.name, named_types.get(kind.name.rpartition(".")[2]))
        return found is None or _is_valid_default(found, value, named_types)
    if kind.kind in _PRIMITIVE_DEFAULTS:
        return _PRIMITIVE_DEFAULTS[kind.kind](value)
    if kind.kind in ("array", "map"):
        items = value.values() if isinstance(value, dict) else value
        return isinstance(value, list if kind.kind == "array" else dict) and all(
            _is_valid_default(kind.parts[0], item, named_types) for item in items
        )
    if kind.kind in ("record", "error"):
        return isinstance(value, dict) and all(
            _is_valid_default(part, value[name], named_types) if name in value else default is not ...
            for part, (name, default) in zip(kind.parts, kind.fields.items(), strict=True)
        )
    if kind.kind == "fixed":
        return _PRIMITIVE_DEFAULTS["bytes"](value) and len(value) == kind.size
    return (
        value in kind.symbols
        if kind.kind == "enum"
        else any(_is_valid_default(branch, value, named_types) for branch in kind.parts)
    )
