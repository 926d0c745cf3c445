"""Tells whether a registry takes two schemas for one, without asking it.

Confluent's registry compares canonical forms (``AvroSchema.canonicalString``, ``JsonSchema``, and
``ProtobufSchemaUtils.toString``), and so does Apicurio (its classes ``…ContentCanonicalizer``). What is equal here is
equal in both. They ignore more, and not the same: if this module says that two schemas differ, only the registry can
tell (``read.find_version``).

- Avro: the order of the attributes, white space, how a name and its namespace are written, ``{"type": "int"}`` for
  ``"int"``, and the default order of fields do not count (Avro's ``Schema.toString``). ``doc``, aliases, defaults and
  other attributes count, as in Confluent's form; Apicurio ignores docs, aliases and defaults of enums
  (``EnhancedAvroContentCanonicalizer``). The order of other attributes counts in Apicurio.
- JSON Schema: the order of keys and white space do not count (Apicurio's ``JsonContentCanonicalizer``, Confluent's
  ``JsonSchema.normalize``).
- Protobuf: white space does not count, except beside a comment, because it decides to what a comment belongs.
  Comments count in Apicurio (Wire's ``ProtoFileElement.toSchema``), but not in Confluent's registry.
- Line ends never count: a checkout on Windows is no other schema.
- References: their order does not count (``normalize``). One without a version is equal to none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable
from typing import Any, Final, TypeAlias

from topicwarden.model.subject import RegisteredSchema

_Form: TypeAlias = Hashable


class _NoForm(Exception):
    """A text that has no canonical form here, because registries may read it differently or not at all."""


def same(one: RegisteredSchema, other: RegisteredSchema) -> bool:
    """Return whether every registry takes the two schemas for one. False if only a registry can tell."""
    if one.format != other.format or not _same_references(one, other):
        return False
    texts = [_unix_lines(each.text) for each in (one, other)]
    if texts[0] == texts[1]:
        return True
    form = {"avro": _avro_form, "json": _json_form, "protobuf": _protobuf_form}[one.format]
    try:
        return form(texts[0]) == form(texts[1])
    except (_NoForm, ValueError, RecursionError):
        return False


def _unix_lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _same_references(one: RegisteredSchema, other: RegisteredSchema) -> bool:
    if any(each.version is None for each in (*one.references, *other.references)):
        return False
    return sorted(one.references) == sorted(other.references)


class _Number(str):
    """A number of JSON, as it is written: 1 and 1.0 differ in canonical forms."""

    __slots__ = ()


class _Object(tuple[tuple[str, Any], ...]):
    """An object of JSON, with its keys in order."""

    __slots__ = ()


def _parsed(text: str) -> Any:
    return json.loads(
        text, object_pairs_hook=_object, parse_int=_Number, parse_float=_Number, parse_constant=_no_constant
    )


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    if len(dict(pairs)) != len(pairs):
        raise _NoForm("a key appears twice")
    return _Object(pairs)


def _no_constant(text: str) -> Any:
    raise _NoForm(text)


def _value(value: Any, *, sort: bool) -> _Form:
    """Return the form of any JSON, with a tag for each type, because ``1 == True`` and ``_Number("1") == "1"``."""
    if isinstance(value, _Object):
        pairs = [(key, _value(each, sort=sort)) for key, each in value]
        return "object", tuple(sorted(pairs, key=lambda pair: pair[0]) if sort else pairs)
    if isinstance(value, list):
        return "array", tuple(_value(each, sort=sort) for each in value)
    return type(value).__name__, value


def _json_form(text: str) -> _Form:
    return _value(_parsed(text), sort=True)


_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
_SCHEMA_KEYS: Final = {"array": "items", "map": "values"}


def _avro_form(text: str) -> _Form:
    return _type(_parsed(text), "")


def _type(schema: Any, namespace: str) -> _Form:
    """Return the form of a schema within ``namespace``."""
    if isinstance(schema, _Number):
        raise _NoForm("a number")
    if isinstance(schema, str):
        return "type", schema if schema in _PRIMITIVES else _full_name(schema, namespace)
    if isinstance(schema, list):
        return "union", tuple(_type(branch, namespace) for branch in schema)
    if not isinstance(schema, _Object):
        raise _NoForm("no schema")
    attributes = dict(schema)
    kind = attributes.get("type")
    if not isinstance(kind, str) or isinstance(kind, _Number):
        raise _NoForm("a schema in type")  # Java's parser accepts it, and other parsers do not
    if kind in _NAMED:
        return _definition(kind, schema, namespace)
    if kind in _SCHEMA_KEYS:
        inner = _SCHEMA_KEYS[kind]
        return kind, _type(attributes.get(inner), namespace), _others(schema, {"type", inner})
    others = _others(schema, {"type"})
    return ("annotated", _type(kind, namespace), others) if others else _type(kind, namespace)


def _definition(kind: str, schema: _Object, namespace: str) -> _Form:
    attributes = dict(schema)
    name, space = attributes.get("name"), attributes.get("namespace", namespace)
    if not isinstance(name, str) or not isinstance(space, str):
        raise _NoForm("no name")
    full_name = _full_name(name, space)
    inside = full_name.rpartition(".")[0]
    known = {"type", "name", "namespace", "aliases", "doc", "fields"}
    parts: tuple[_Form, ...] = (_aliases(attributes, inside), _value(attributes.get("doc"), sort=False))
    if kind in ("record", "error"):
        fields = attributes.get("fields")
        if not isinstance(fields, list):
            raise _NoForm("no fields")
        parts += (tuple(_field(field, inside) for field in fields),)
    elif kind == "enum":
        parts += tuple(_value(attributes.get(each), sort=False) for each in ("symbols", "default"))
        known |= {"symbols", "default"}
    else:
        parts += (_value(attributes.get("size"), sort=False),)
        known |= {"size"}
    return kind, full_name, parts, _others(schema, known)


def _field(field: Any, namespace: str) -> _Form:
    if not isinstance(field, _Object):
        raise _NoForm("no field")
    attributes = dict(field)
    known = {"name", "type", "doc", "default", "order", "aliases"}
    return (
        _value(attributes.get("name"), sort=False),
        _type(attributes.get("type"), namespace),
        _value(attributes.get("doc"), sort=False),
        _value(attributes["default"], sort=False) if "default" in attributes else None,
        _value(attributes.get("order", "ascending"), sort=False),
        _value(attributes.get("aliases"), sort=False),
        _others(field, known),
    )


def _aliases(attributes: dict[str, Any], namespace: str) -> _Form:
    aliases = attributes.get("aliases", [])
    if not isinstance(aliases, list) or not all(type(each) is str for each in aliases):
        raise _NoForm("aliases")
    return tuple(_full_name(each, namespace) for each in aliases)


def _full_name(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _others(schema: _Object, known: set[str]) -> _Form:
    """Return the attributes that Avro keeps without a meaning of its own, and those of logical types, in order."""
    return tuple((key, _value(each, sort=False)) for key, each in schema if key not in known)


_TOKEN: Final = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"""|(?P<symbol>[{}\[\]()<>=;,:])|(?P<word>[^\s{}\[\]()<>=;,:"'/]+)|(?P<space>\s+)""",
    re.DOTALL,
)


def _protobuf_form(text: str) -> _Form:
    """Return the tokens; white space only counts beside a comment."""
    found, position = [], 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise _NoForm("not a token")
        found.append((token.lastgroup, token[0]))
        position = token.end()
    comments = {index for index, (kind, _) in enumerate(found) if kind == "comment"}
    return tuple(
        each for index, each in enumerate(found) if each[0] != "space" or index - 1 in comments or index + 1 in comments
    )
