"""Draw pairs of an old and a new schema of one subject, and what producers write with the old one."""

from __future__ import annotations

import copy
import io
import json
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import avro.errors
import avro.io
import avro.schema
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from tests.campaigns.codecs.differential import avro_value, damaged, has_long_tag
from topicwarden.scratch_folder import scratch_folder
from topicwarden.specs.record_schemas.protobuf import compile_proto, protoc_path

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_FIELDS = ("amount", "id", "name", "at", "tags")
_SYMBOLS = ("A", "B", "C", "D")
_DEFAULTS = {
    "null": None,
    "boolean": True,
    "int": 1,
    "long": 7,
    "float": 1.5,
    "double": 2.5,
    "bytes": "x",
    "string": "x",
}


@dataclass(frozen=True)
class Pair:
    """An old and a new schema, and the data after the schema id in records that were written with the old one."""

    format: str
    old: str
    new: str
    new_format: str
    values: tuple[bytes, ...]


def draw_pairs(seed: str, count: int) -> list[Pair]:
    """Return random pairs. In some, the new schema has another format."""
    draws = [random.Random(f"{seed}/{number}") for number in range(count)]
    kinds = [draw.choice(("avro", "json", "protobuf")) for draw in draws]
    protos = {n: _protobuf_schemas(draws[n], f"x{n}") for n in range(count) if kinds[n] == "protobuf"}
    compile_together([old for old, _ in protos.values()])
    compile_together([new for _, new in protos.values()])
    pairs = []
    for number, (draw, kind) in enumerate(zip(draws, kinds, strict=True)):
        if kind == "protobuf":
            pair = _protobuf_pair(draw, *protos[number])
        else:
            pair = (_avro_pair if kind == "avro" else _json_pair)(draw)
        if draw.random() < 0.03:
            other = (_json_pair if kind == "avro" else _avro_pair)(draw)
            pair = Pair(pair.format, pair.old, other.new, other.format, pair.values)
        pairs.append(pair)
    return pairs


# Avro


def _avro_pair(draw: random.Random) -> Pair:
    while True:
        old = _avro_type(draw, [0], 3)
        new = copy.deepcopy(old) if draw.random() < 0.9 else _avro_type(draw, [0], 3)
        for _ in range(draw.randint(0, 4)):
            new = _avro_changed(draw, new, [draw.randint(100, 10**6)])
        try:
            parsed = avro.schema.parse(json.dumps(old))
            avro.schema.parse(json.dumps(new))
        except (avro.errors.AvroException, TypeError, KeyError, ValueError):
            continue  # a change that is no schema
        values = []
        for _ in range(8):
            stream = io.BytesIO()
            try:
                avro.io.DatumWriter(parsed).write(avro_value(parsed, draw), avro.io.BinaryEncoder(stream))
            except avro.errors.AvroException:
                continue
            values.append(damaged(stream.getvalue(), draw) if draw.random() < 0.1 else stream.getvalue())
        return Pair("avro", json.dumps(old), json.dumps(new), "avro", tuple(values))


def _avro_type(draw: random.Random, number: list[int], depth: int, *, union: bool = True) -> Any:  # noqa: PLR0911  (by kind)
    kinds = ["primitive"]
    if depth:
        kinds += ["record", "record", "record", "enum", "fixed", "array", "map", *(["union"] * 2 if union else [])]
    kind = draw.choice(kinds) if depth < 3 else draw.choice(("record", "record", "record", *kinds))
    if kind == "primitive":
        return draw.choice(_PRIMITIVES)
    if kind == "array":
        return {"type": "array", "items": _avro_type(draw, number, depth - 1)}
    if kind == "map":
        return {"type": "map", "values": _avro_type(draw, number, depth - 1)}
    if kind == "union":
        return _avro_union([_avro_type(draw, number, depth - 1, union=False) for _ in range(draw.randint(1, 4))])
    number[0] += 1
    name = f"{kind.title()}{number[0]}"
    if kind == "enum":
        symbols = draw.sample(_SYMBOLS, draw.randint(1, 4))
        return {"type": "enum", "name": name, "symbols": symbols} | draw.choice(({}, {}, {"default": symbols[0]}))
    if kind == "fixed":
        return {"type": "fixed", "name": name, "size": draw.randint(1, 5)}
    fields = [_avro_field(draw, each, number, depth - 1) for each in draw.sample(_FIELDS, draw.randint(0, 4))]
    return {"type": "record", "name": name, "fields": fields}


def _avro_union(branches: list[Any]) -> list[Any]:
    found: dict[str, Any] = {}
    for branch in branches:
        found.setdefault(branch if isinstance(branch, str) else branch.get("name", branch["type"]), branch)
    return list(found.values())


def _avro_field(draw: random.Random, name: str, number: list[int], depth: int) -> dict[str, Any]:
    kind = _avro_type(draw, number, depth)
    return {"name": name, "type": kind} | (_avro_default(kind) if draw.random() < 0.4 else {})


def _avro_default(kind: Any) -> dict[str, Any]:
    first = kind[0] if isinstance(kind, list) else kind
    if isinstance(first, str):
        return {"default": _DEFAULTS[first]} if first in _DEFAULTS else {}
    if first["type"] in ("array", "map"):
        return {"default": [] if first["type"] == "array" else {}}
    return {"default": first["symbols"][0]} if first["type"] == "enum" else {}


def _avro_changed(draw: random.Random, schema: Any, number: list[int]) -> Any:  # noqa: PLR0911, PLR0912  (by kind)
    """Return a schema with one random change of the kinds that people make."""
    if isinstance(schema, str):
        promotions = {"int": "long", "long": "double", "float": "double", "string": "bytes", "bytes": "string"}
        return draw.choice(
            (
                promotions.get(schema, "string"),
                ["null", schema] if schema != "null" else "int",
                draw.choice(_PRIMITIVES),
            )
        )
    if isinstance(schema, list):
        branches = list(schema)
        match draw.randint(0, 3):
            case 0 if len(branches) > 1:
                branches.pop(draw.randrange(len(branches)))
            case 1:
                return _avro_union([*branches, _avro_type(draw, number, 1, union=False)])
            case 2:
                return draw.choice(branches)
            case _:
                at = draw.randrange(len(branches))
                changed = _avro_changed(draw, branches[at], number)
                return _avro_union([*branches[:at], *(changed if isinstance(changed, list) else [changed])])
        return branches
    if draw.random() < 0.05:
        return draw.choice((_avro_type(draw, number, 2), ["null", schema]))
    changed = dict(schema)
    if schema["type"] == "array":
        changed["items"] = _avro_changed(draw, schema["items"], number)
    elif schema["type"] == "map":
        changed["values"] = _avro_changed(draw, schema["values"], number)
    elif schema["type"] == "fixed":
        changed["size"] = draw.randint(1, 5)
    elif schema["type"] == "enum":
        symbols = [each for each in schema["symbols"] if draw.random() < 0.7] or list(schema["symbols"][:1])
        changed["symbols"] = [*symbols, *draw.choice(((), ("E",)))]
        changed.pop("default", None)
        if draw.random() < 0.4:
            changed["default"] = draw.choice(changed["symbols"])
    else:
        _avro_changed_record(draw, changed, number)
    return changed


def _avro_changed_record(draw: random.Random, changed: dict[str, Any], number: list[int]) -> None:
    fields = list(changed["fields"])
    unused = [each for each in _FIELDS if each not in {field["name"] for field in fields}]
    match draw.randint(0, 6):
        case 0 if unused:
            fields.insert(draw.randint(0, len(fields)), _avro_field(draw, draw.choice(unused), number, 1))
        case 1 if fields:
            fields.pop(draw.randrange(len(fields)))
        case 2 if fields:
            draw.shuffle(fields)
        case 3 if fields and unused:
            at = draw.randrange(len(fields))
            alias = {"aliases": [fields[at]["name"]]} if draw.random() < 0.5 else {}
            fields[at] = {**fields[at], "name": draw.choice(unused), **alias}
        case 4 if draw.random() < 0.3:
            alias = {"aliases": [changed["name"]]} if draw.random() < 0.5 else {}
            changed |= {"name": f"{changed['name']}x", **alias}
        case _ if fields:
            at = draw.randrange(len(fields))
            kind = _avro_changed(draw, fields[at]["type"], number)
            field = {name: value for name, value in fields[at].items() if name != "default"}
            fields[at] = {**field, "type": kind} | (_avro_default(kind) if draw.random() < 0.4 else {})
    changed["fields"] = fields


# JSON Schema

_DRAFTS = (
    *(None,) * 3,
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")


def _json_pair(draw: random.Random) -> Pair:
    draft = draw.choice(_DRAFTS)
    head = {"$schema": draft} if draft else {}
    old = _json_schema(draw, 3) | {"type": "object"} if draw.random() < 0.7 else _json_schema(draw, 3)
    new = copy.deepcopy(old) if draw.random() < 0.9 else _json_schema(draw, 3)
    for _ in range(draw.randint(0, 3)):
        new = _json_changed(draw, new)
    values = []
    for _ in range(8):
        value = json.dumps(_json_value(draw, draw.choice((old, new)), 4)).encode()
        values.append(damaged(value, draw) if draw.random() < 0.1 else value)
    return Pair("json", json.dumps(head | old), json.dumps(head | new), "json", tuple(values))


def _json_schema(draw: random.Random, depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if draw.random() < 0.8:
        kind = draw.choice(_TYPES) if depth < 3 else "object"
        schema["type"] = kind if draw.random() < 0.9 else draw.sample(_TYPES, 2)
    for _ in range(draw.randint(0, 3)):
        schema |= _json_keyword(draw, depth)
    return schema


def _json_keyword(draw: random.Random, depth: int) -> dict[str, Any]:
    below: Callable[[], Any] = lambda: _json_schema(draw, depth - 1)  # noqa: E731
    names = draw.sample(_FIELDS, draw.randint(1, 3))
    simple: list[Callable[[], dict[str, Any]]] = [
        lambda: {"required": names},
        lambda: {"enum": [_json_value(draw, {}, 1) for _ in range(3)] + ["A"]},
        lambda: {"const": draw.choice((1, 1.0, "A", None, [], {"id": 1}))},
        lambda: {draw.choice(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")): draw.choice((0, 1, 2.5))},
        lambda: {"multipleOf": draw.choice((1, 2, 0.5, 0.1))},
        lambda: {draw.choice(("minLength", "maxLength")): draw.randint(0, 3)},
        lambda: {draw.choice(("minItems", "maxItems", "minProperties", "maxProperties")): draw.randint(0, 3)},
        lambda: {"pattern": draw.choice(("^A", "^[a-z]+$", "[0-9]", "é"))},
        lambda: {"uniqueItems": True},
    ]
    nested: list[Callable[[], dict[str, Any]]] = [
        *(lambda: {"properties": {name: below() for name in names}},) * 6,
        lambda: {"additionalProperties": draw.choice((False, below()))},
        lambda: {"patternProperties": {"^a": below()}},
        lambda: {"propertyNames": {"maxLength": draw.randint(2, 5)}},
        lambda: {"items": below()},
        lambda: {"contains": below()},
        lambda: {draw.choice(("oneOf", "anyOf", "allOf")): [below() for _ in range(draw.randint(1, 3))]},
        lambda: {"not": below()},
    ]
    return draw.choice(simple + (nested * 2 if depth else []))()


def _json_changed(draw: random.Random, schema: Any) -> Any:
    if not isinstance(schema, dict):
        return _json_schema(draw, 1)
    changed = dict(schema)
    inner = [
        name for name in ("properties", "items", "additionalProperties", "not") if isinstance(schema.get(name), dict)
    ]
    match draw.randint(0, 4):
        case 0 if schema:
            changed.pop(draw.choice(list(schema)))
        case 1:
            changed |= _json_keyword(draw, 1)
        case 2 if "properties" in schema:
            changed["required"] = draw.sample(list(schema["properties"]), draw.randint(1, len(schema["properties"])))
        case _ if inner:
            name = draw.choice(inner)
            if name == "properties":
                at = draw.choice(list(schema[name]))
                changed[name] = {**schema[name], at: _json_changed(draw, schema[name][at])}
            else:
                changed[name] = _json_changed(draw, schema[name])
        case _:
            changed["type"] = draw.choice(_TYPES)
    return changed


def _json_value(draw: random.Random, schema: Any, depth: int) -> Any:  # noqa: PLR0911  (by type)
    """Return a random value, which often fits ``schema``."""
    if not isinstance(schema, dict):
        schema = {}
    if "const" in schema and draw.random() < 0.8:
        return schema["const"]
    if "enum" in schema and draw.random() < 0.8:
        return draw.choice(schema["enum"])
    kind = schema.get("type", draw.choice(_TYPES))
    kind = draw.choice(kind) if isinstance(kind, list) else kind
    kind = draw.choice(_TYPES) if draw.random() < 0.1 else kind
    match kind:
        case "object":
            properties = schema.get("properties", {})
            names = {*properties, *schema.get("required", ())} if draw.random() < 0.8 else set(draw.sample(_FIELDS, 2))
            kept = sorted(name for name in names if draw.random() < 0.9) if depth else []
            return {name: _json_value(draw, properties.get(name, {}), depth - 1) for name in kept}
        case "array":
            count = draw.randint(0, 3) if depth else 0
            return [_json_value(draw, schema.get("items", {}), depth - 1) for _ in range(count)]
        case "string":
            return draw.choice(("", "A", "abc", "é1", "Bcd"))
        case "integer":
            return draw.choice((0, 1, 2, 3, -1, 10**20, 1.0))
        case "number":
            return draw.choice((0, 1, 2.5, 0.3, -1.5, 1e-7, 1e30))
        case "boolean":
            return draw.random() < 0.5
    return None


# Protocol Buffers

_SCALARS = (
    *("int32", "int64", "uint32", "uint64", "sint32", "sint64", "bool", "fixed32", "fixed64", "sfixed32", "sfixed64"),
    *("float", "double", "string", "string", "bytes", "bytes"),
)


@dataclass
class _Field:
    name: str
    number: int
    kind: str
    label: str


@dataclass
class _Proto:
    syntax: str
    package: str
    messages: dict[str, list[_Field]]

    def text(self) -> str:
        """Return the ``.proto`` file."""
        lines = [f'syntax = "{self.syntax}";', *([f"package {self.package};"] if self.package else [])]
        lines.append("enum E { ZERO = 0; ONE = 1; }")
        for name, fields in self.messages.items():
            lines.append(f"message {name} {{")
            lines += [f"  {self._label(field)}{field.kind} {field.name} = {field.number};" for field in fields]
            lines.append("}")
        return "\n".join(lines) + "\n"

    def _label(self, field: _Field) -> str:
        if field.kind.startswith("map<"):
            return ""
        old = self.syntax == "proto2"
        return f"{field.label} " if field.label == "repeated" or old else "optional " * (field.label == "required")


def _protobuf_schemas(draw: random.Random, package: str) -> tuple[str, str]:
    """Return an old and a new ``.proto`` file. Packages begin with ``package``, so that all compile together."""
    syntax = draw.choice(("proto2", "proto3"))
    names = ["A", *(["B"] if draw.random() < 0.7 else [])]
    old = _Proto(syntax, draw.choice((package, f"{package}.p")), {})
    for name in names:
        numbers = draw.sample(range(1, 40), draw.randint(0, 5))
        old.messages[name] = [_protobuf_field(draw, number, names) for number in numbers]
    new = copy.deepcopy(old)
    for _ in range(draw.randint(0, 4)):
        _protobuf_changed(draw, new, package)
    return old.text(), new.text()


def _protobuf_pair(draw: random.Random, old: str, new: str) -> Pair:
    kinds = list(message_types(old).values())
    values = []
    for _ in range(8):
        index = draw.randrange(len(kinds))
        kind = kinds[index]
        made = kind()
        _fill(made, draw, 3)
        value = made.SerializePartialToString()
        wrong = damaged(value, draw) if draw.random() < 0.15 else value
        value = value if has_long_tag(kind.DESCRIPTOR, wrong) else wrong
        path = draw.choice((b"\0", b"\2\0")) if index == 0 else b"\2\2"
        values.append(path + value)
    return Pair("protobuf", old, new, "protobuf", tuple(values))


def _protobuf_field(draw: random.Random, number: int, names: list[str]) -> _Field:
    kind = draw.choice((*_SCALARS, "E", *names, "map<string, int32>", f"map<int64, {names[-1]}>"))
    label = draw.choice(("optional", "optional", "repeated", "required"))
    return _Field(f"f{number}", number, kind, "optional" if label == "required" and kind in names else label)


def _protobuf_changed(draw: random.Random, proto: _Proto, package: str) -> None:
    names = list(proto.messages)
    name = draw.choice(names)
    fields = proto.messages[name]
    match draw.randint(0, 9):
        case 0 if fields:
            fields.pop(draw.randrange(len(fields)))
        case 1 | 2:
            number = draw.choice([each for each in range(1, 40) if each not in {field.number for field in fields}])
            field = _protobuf_field(draw, number, names)
            field.name = f"n{len(fields)}_{draw.randrange(10**6)}"
            fields.append(field)
        case 3 if draw.random() < 0.2:
            proto.syntax = "proto3" if proto.syntax == "proto2" else "proto2"
        case 4 if draw.random() < 0.2:
            proto.package = draw.choice((package, f"{package}.p", f"{package}.r"))
        case 5 if len(names) > 1 and draw.random() < 0.3:
            used = any("B" in field.kind for each in proto.messages.values() for field in each)
            if not used:
                del proto.messages["B"]
        case 6 if fields:
            field = draw.choice(fields)
            unused = [each for each in range(1, 40) if each not in {other.number for other in fields}]
            field.number = draw.choice(unused)
        case _ if fields:
            field = draw.choice(fields)
            drawn = _protobuf_field(draw, field.number, names)
            field.kind, field.label = draw.choice(
                ((drawn.kind, drawn.label), (field.kind, drawn.label), (drawn.kind, field.label))
            )
            if field.kind in names and field.label == "required":
                field.label = "optional"


_COMPILED: dict[str, bytes] = {}


def compile_together(texts: list[str]) -> None:
    """Compile ``.proto`` files of different packages with one process, which takes as long as for one file."""
    missing = [text for text in texts if text not in _COMPILED]
    if not missing:
        return
    with scratch_folder() as folder:
        names = [f"f{number}.proto" for number in range(len(missing))]
        for name, text in zip(names, missing, strict=True):
            (folder / name).write_text(text, encoding="utf-8")
        command = [str(protoc_path()), "-I.", "--descriptor_set_out=set", *names]
        subprocess.run(command, cwd=folder, check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString((folder / "set").read_bytes()).file
    for file in files:
        text = missing[int(file.name.removeprefix("f").removesuffix(".proto"))]
        _COMPILED[text] = descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


def compiled_proto(text: str, references: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Return what ``compile_proto`` does, without a process for files that ``compile_together`` has compiled."""
    return _COMPILED.get(text) or compile_proto(text, references)


def message_types(text: str) -> dict[str, Any]:
    """Return the classes of the messages of a ``.proto`` file by full name, in Protocol Buffers' own runtime."""
    pool = descriptor_pool.DescriptorPool()
    file = descriptor_pb2.FileDescriptorSet.FromString(compiled_proto(text)).file[-1]
    pool.Add(file)
    names = [f"{file.package}.{message.name}".lstrip(".") for message in file.message_type]
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names}


def _fill(target: Any, draw: random.Random, depth: int) -> None:
    for field in target.DESCRIPTOR.fields:
        if draw.random() < 0.2:
            continue  # also of required fields
        repeated = field.label == field.LABEL_REPEATED
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        current = getattr(target, field.name)
        for _ in range(draw.randint(0, 3) if repeated else 1):
            if is_map:
                key, value = field.message_type.fields
                at = _scalar(key, draw)
                if value.message_type is not None:
                    if depth > 0:
                        _fill(current[at], draw, depth - 1)
                else:
                    current[at] = _scalar(value, draw)
            elif field.message_type is not None:
                if depth > 0:
                    _fill(current.add() if repeated else current, draw, depth - 1)
                    if not repeated:
                        current.SetInParent()
            elif repeated:
                current.append(_scalar(field, draw))
            else:
                setattr(target, field.name, _scalar(field, draw))


def _scalar(field: Any, draw: random.Random) -> Any:  # noqa: PLR0911  (by type)
    match field.cpp_type:
        case field.CPPTYPE_INT32 | field.CPPTYPE_INT64:
            bits = 31 if field.cpp_type == field.CPPTYPE_INT32 else 63
            return draw.randint(-(2**bits), 2**bits - 1) >> draw.randint(0, bits)
        case field.CPPTYPE_UINT32 | field.CPPTYPE_UINT64:
            return draw.getrandbits(32 if field.cpp_type == field.CPPTYPE_UINT32 else 64) >> draw.randint(0, 31)
        case field.CPPTYPE_DOUBLE | field.CPPTYPE_FLOAT:
            return draw.uniform(-10, 10)
        case field.CPPTYPE_BOOL:
            return draw.random() < 0.5
        case field.CPPTYPE_ENUM:
            return draw.randint(0, 1)
    if field.type == field.TYPE_STRING:
        return draw.choice(("", "a", "é\U0001f600", "abc"))
    return draw.choice((b"", b"abc", b"\xff\xfe", b"\x08\x01", draw.randbytes(3)))
