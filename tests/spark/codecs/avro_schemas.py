"""Random Avro schemas, sound or broken, with values of theirs."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import strategies as st

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_NAMES = st.sampled_from(["a", "b", "c", "D", "_e1", "long_name"])
_JUNK = st.sampled_from(
    [None, "", "x", "1a", "a.b", 0, -1, 2**40, 1.5, True, [], ["a", "a"], {}, {"a": 1}, "int", "null"]
)


def schemas(*, broken: bool = False) -> st.SearchStrategy[Any]:
    """A schema; if ``broken``, with up to two of its parts replaced by something else."""
    return st.composite(_draw)(broken=broken)


def _draw(draw: st.DrawFn, *, broken: bool) -> Any:
    schema = _schema(draw, itertools.count(), [], 3)
    if broken:
        for _ in range(draw(st.integers(1, 2))):
            schema = _mutated(draw, schema)
    return schema


def _schema(draw: st.DrawFn, numbers: Any, names: list[str], depth: int, *, union: bool = True) -> Any:
    kinds = ["primitive", *(["reference"] if names else [])]
    if depth:
        kinds += ["record", "record", "enum", "fixed", "array", "map", *(["union"] if union else [])]
    kind = draw(st.sampled_from(kinds))
    if kind == "primitive":
        primitive = draw(st.sampled_from(PRIMITIVES))
        return draw(st.sampled_from([primitive, {"type": primitive}, {"type": primitive, "doc": "x"}]))
    if kind == "reference":
        return draw(st.sampled_from(names))
    if kind in ("array", "map"):
        return {"type": kind, "items" if kind == "array" else "values": _schema(draw, numbers, names, depth - 1)}
    if kind == "union":
        return _union(draw, numbers, names, depth)
    name = f"{kind.title()}{next(numbers)}"
    made = {"type": kind, "name": name, **_content(draw, kind, numbers, names, depth)}
    names.append(name)
    return made


def _content(draw: st.DrawFn, kind: str, numbers: Any, names: list[str], depth: int) -> dict[str, Any]:
    """What a record, an enum or a fixed has beside its name."""
    if kind == "fixed":
        return {"size": draw(st.integers(0, 5))}
    if kind == "enum":
        symbols = draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True))
        return {"symbols": symbols, **draw(st.sampled_from([{}, {"default": symbols[0]}]))}
    fields = []
    for field in draw(st.lists(_NAMES, max_size=4, unique=True)):
        type_of = _schema(draw, numbers, names, depth - 1)
        fields.append({"name": field, "type": type_of, **_default(draw, type_of)})
    return {"fields": fields}


def _union(draw: st.DrawFn, numbers: Any, names: list[str], depth: int) -> list[Any]:
    branches: dict[str, Any] = {}
    for _ in range(draw(st.integers(1, 3))):
        known = len(names)
        branch = _schema(draw, numbers, names, depth - 1, union=False)
        name = branch if isinstance(branch, str) else branch.get("name", branch["type"])
        if name in branches:
            del names[known:]  # with the branch go the types that it defines
        branches.setdefault(name, branch)
    return list(branches.values())


_DEFAULTS = {
    "null": None,
    "boolean": True,
    "int": 1,
    "long": 2**40,
    "float": 1.5,
    "double": 2,
    "bytes": "\xff",
    "string": "x",
}


def _default(draw: st.DrawFn, schema: Any) -> dict[str, Any]:
    kind = schema if isinstance(schema, str) else schema.get("type") if isinstance(schema, dict) else schema[0]
    if not isinstance(kind, str) or kind not in _DEFAULTS or not draw(st.booleans()):
        return {}
    return {"default": _DEFAULTS[kind]}


def _mutated(draw: st.DrawFn, schema: Any) -> Any:
    """A copy with one part replaced, removed or added."""
    if isinstance(schema, dict) and schema and draw(st.integers(0, 3)):
        key = draw(st.sampled_from([*schema, "default", "aliases", "namespace", "order", "logicalType", "type"]))
        if key in schema and draw(st.integers(0, 4)) == 0:
            return {name: value for name, value in schema.items() if name != key}
        if key in schema and isinstance(schema[key], (dict, list)) and draw(st.integers(0, 3)):
            return {**schema, key: _mutated(draw, schema[key])}
        return {**schema, key: draw(_JUNK)}
    if isinstance(schema, list) and schema and draw(st.integers(0, 3)):
        at = draw(st.integers(0, len(schema) - 1))
        return [*schema[:at], _mutated(draw, schema[at]), *schema[at + 1 :]]
    return draw(_JUNK)
