"""Pairs of schemas: random ones with mutations, and pairs from public test data."""

# ruff: noqa: PLR0911, PLR0912, PLR0915, PLR0917 - a random schema is one choice among all constructs of a language
from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import avro.test.test_compatibility as avro_compatibility
import google.rpc  # type: ignore[import-untyped]

from tests.support.conformance_data import suite

_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_WORDS = ("id", "amount", "name", "state", "tags", "created_at", "owner", "lines", "price", "kind")


@dataclass(frozen=True)
class SchemaPair:
    """An old and a new schema of one format. ``references`` are texts by the name in the reference."""

    format: str
    old: str
    new: str
    source: str
    references: Mapping[str, str] = field(default_factory=dict)


def pairs(form: str, count: int, seed: int) -> Iterator[SchemaPair]:
    """Yield ``count`` pairs of ``form``: a third from public test data, the others random."""
    random = Random(f"{form}-{seed}")
    public = list(_PUBLIC[form](random))
    random.shuffle(public)
    yield from public[: count // 3]
    for _ in range(count - min(len(public), count // 3)):
        yield _RANDOM[form](random)


def _random_avro(random: Random) -> SchemaPair:
    references: dict[str, str] = {}
    names = _AvroNames()
    if random.random() < 0.08:
        money = {"type": "record", "name": "com.acme.Money", "fields": [{"name": "units", "type": "long"}]}
        references["com.acme.Money"] = json.dumps(money)
        names.known.append("com.acme.Money")
    old = _avro_record(random, 0, names)
    if references:
        old["fields"].append({"name": "money", "type": "com.acme.Money"})
    new = _mutated(random, old, _mutate_avro)
    return SchemaPair("avro", json.dumps(old), json.dumps(new), "random", references)


@dataclass
class _AvroNames:
    """The names that a schema defines."""

    known: list[str] = field(default_factory=list)

    def new(self, prefix: str) -> str:
        name = f"{prefix}{len(self.known)}"
        self.known.append(f"a.{name}")
        return name


def _avro_record(random: Random, depth: int, names: _AvroNames) -> dict[str, Any]:
    record: dict[str, Any] = {"type": "record", "name": names.new("R"), "namespace": "a"}
    if random.random() < 0.2:
        record["aliases"] = [random.choice(("Old", "b.Old"))]
    record["fields"] = [_avro_field(random, word, depth, names) for word in random.sample(_WORDS, random.randint(1, 5))]
    return record


def _avro_field(random: Random, name: str, depth: int, names: _AvroNames) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "type": _avro_type(random, depth + 1, names)}
    default = _avro_default(made["type"])
    if default is not ... and random.random() < 0.4:
        made["default"] = default
    if random.random() < 0.1:
        made["aliases"] = [f"old_{name}"]
    if random.random() < 0.1:
        made["order"] = random.choice(("ascending", "descending", "ignore"))
    return made


def _avro_type(random: Random, depth: int, names: _AvroNames) -> Any:
    kind = random.choice(
        ("plain",) * 5 + ("logical", "enum", "fixed", "array", "map", "union", "union", "record", "known")
    )
    if depth > 3 and kind in ("array", "map", "union", "record"):
        kind = "plain"
    match kind:
        case "logical":
            return random.choice(
                (
                    {"type": "bytes", "logicalType": "decimal", "precision": random.randint(4, 9), "scale": 2},
                    {"type": "int", "logicalType": "date"},
                    {"type": "long", "logicalType": random.choice(("timestamp-millis", "timestamp-micros"))},
                    {"type": "string", "logicalType": "uuid"},
                )
            )
        case "enum":
            made = {"type": "enum", "name": names.new("E"), "namespace": "a", "symbols": ["A", "B", "C"]}
            return made | ({"default": "A"} if random.random() < 0.4 else {})
        case "fixed":
            return {"type": "fixed", "name": names.new("F"), "namespace": "a", "size": random.choice((4, 8, 16))}
        case "array":
            return {"type": "array", "items": _avro_type(random, depth + 1, names)}
        case "map":
            return {"type": "map", "values": _avro_type(random, depth + 1, names)}
        case "union":
            return random.sample(_PRIMITIVES, random.randint(1, 3)) + (
                [_avro_record(random, depth + 1, names)] if random.random() < 0.3 else []
            )
        case "record":
            return _avro_record(random, depth + 1, names)
        case "known" if len(names.known) > 1:
            return random.choice(names.known[:-1])
    return random.choice(_PRIMITIVES)


def _avro_default(schema: Any) -> Any:
    """Return a default for a schema, or ``...`` if this has none."""
    schema = schema[0] if isinstance(schema, list) else schema
    kind = schema["type"] if isinstance(schema, dict) else schema
    simple: dict[str, Any] = {"null": None, "boolean": True, "int": 1, "long": 2, "float": 1.5, "double": 2.5}
    simple |= {"bytes": "\u00ff", "string": "x", "array": [], "map": {}, "enum": "A"}
    return simple.get(kind, ...)


def _mutate_avro(random: Random, node: Any) -> None:
    if not isinstance(node, dict):
        return
    if "fields" in node:
        fields = node["fields"]
        match random.randrange(8):
            case 0:
                fields.append(_avro_field(random, f"added{random.randint(0, 99)}", 3, _AvroNames(["x"] * 50)))
            case 1 if fields:
                fields.pop(random.randrange(len(fields)))
            case 2:
                random.shuffle(fields)
            case 3:
                old = node["name"]
                node["name"] = f"{old}x"
                if random.random() < 0.5:
                    node["aliases"] = [old]
            case 4:
                node["namespace"] = "c"
            case _ if fields:
                _mutate_avro_field(random, random.choice(fields))
    elif "symbols" in node:
        match random.randrange(5):
            case 0:
                node["symbols"] = [*node["symbols"], "D"]
            case 1 if len(node["symbols"]) > 1:
                node["symbols"] = node["symbols"][:-1]
            case 2:
                node["default"] = node["symbols"][0]
            case 3:
                node.pop("default", None)
            case _:
                random.shuffle(node["symbols"])
    elif "size" in node:
        node["size"] = random.choice((4, 8, 12))
    elif "items" in node:
        node.update(random.choice(({"items": "long"}, {"type": "map", "values": node["items"]})))
    elif "logicalType" in node:
        node.pop("logicalType") if random.random() < 0.5 else node.update(precision=12, scale=3)


def _mutate_avro_field(random: Random, schema_field: dict[str, Any]) -> None:
    kind = schema_field["type"]
    match random.randrange(6):
        case 0:
            schema_field["type"] = random.choice(_PRIMITIVES)
            schema_field.pop("default", None)
        case 1:
            schema_field.pop("default", None)
        case 2 if (default := _avro_default(kind)) is not ...:
            schema_field["default"] = default
        case 3:
            if random.random() < 0.5:
                schema_field["aliases"] = [schema_field["name"]]
            schema_field["name"] += "_new"
        case 4:
            schema_field["type"] = (
                ["null", *(each for each in kind if each != "null")] if isinstance(kind, list) else ["null", kind]
            )
            schema_field["default"] = None
        case _ if isinstance(kind, list) and len(kind) > 1:
            kind.pop(random.randrange(len(kind)))
            schema_field.pop("default", None)


def _public_avro(_: Random) -> Iterator[SchemaPair]:
    """Yield all pairs of the schemas of the compatibility tests of Avro's Python library, which are those of Java's."""
    schemas = sorted({str(value) for name, value in vars(avro_compatibility).items() if _is_avro_constant(name, value)})
    for old in schemas:
        for new in schemas:
            if old != new:
                yield SchemaPair("avro", old, new, "avro/test/test_compatibility.py")


def _is_avro_constant(name: str, value: object) -> bool:
    return name.isupper() and hasattr(value, "to_json")


_DRAFTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}


def _random_json(random: Random) -> SchemaPair:
    draft = random.choice(("draft4", "draft6", "draft7") * 5 + ("draft2019-09", "draft2020-12"))
    definitions = "$defs" if "-" in draft else "definitions"
    old = {"$schema": _DRAFTS[draft], **_json_object(random, 0, draft)}
    old[definitions] = {"shared": _json_schema(random, 2, draft)}
    references: dict[str, str] = {}
    if random.random() < 0.06:
        references["money.json"] = json.dumps({"type": "object", "properties": {"units": {"type": "integer"}}})
        old["properties"]["money"] = {"$ref": "money.json"}
    if random.random() < 0.1:
        del old["$schema"]
    new = _mutated(random, old, lambda r, node: _mutate_json(r, node, draft))
    return SchemaPair("json", json.dumps(old), json.dumps(new), f"random {draft}", references)


def _json_object(random: Random, depth: int, draft: str) -> dict[str, Any]:
    names = random.sample(_WORDS, random.randint(1, 4))
    made: dict[str, Any] = {
        "type": "object",
        "properties": {name: _json_schema(random, depth + 1, draft) for name in names},
    }
    options: dict[str, Any] = {
        "required": random.sample(names, random.randint(1, len(names))),
        "additionalProperties": random.choice((True, False, {"type": "string"})),
        "minProperties": random.randint(0, 2),
        "maxProperties": random.randint(5, 9),
        "patternProperties": {"^x-": _json_schema(random, 3, draft)},
    }
    if "-" in draft:
        options |= {"dependentRequired": {names[0]: ["id"]}, "unevaluatedProperties": False}
    else:
        options["dependencies"] = {names[0]: random.choice((["id"], {"required": ["id"]}))}
    if draft != "draft4":
        options["propertyNames"] = {"pattern": "^[a-z_]+$"}
    return made | {key: value for key, value in options.items() if random.random() < 0.3}


def _json_schema(random: Random, depth: int, draft: str) -> dict[str, Any]:
    kinds = ["string", "number", "integer", "boolean", "null", "enum", "ref", "types"]
    kinds += ["object", "array", "combined", "not", "conditional", "const"] if depth < 3 else []
    match random.choice(kinds):
        case "string":
            options = {
                "minLength": 1,
                "maxLength": 20,
                "pattern": "^[a-z]+$",
                "format": random.choice(("date", "email", "uri")),
            }
            return {"type": "string"} | {key: value for key, value in options.items() if random.random() < 0.3}
        case "number" | "integer" as kind:
            numbers: dict[str, Any] = {"minimum": 1, "maximum": 100, "multipleOf": 5}
            numbers |= {"exclusiveMinimum": True, "minimum": 0} if draft == "draft4" else {"exclusiveMaximum": 99}
            made = {"type": kind} | {key: value for key, value in numbers.items() if random.random() < 0.3}
            if made.get("exclusiveMinimum") is True:
                made["minimum"] = 0
            return made
        case "enum":
            return {"enum": random.sample(["a", "b", 1, 2.5, None, True, [1]], 3)}
        case "ref":
            return {"$ref": f"#/{'$defs' if '-' in draft else 'definitions'}/shared"} if depth < 2 else {}
        case "types":
            return {"type": random.sample(["string", "integer", "null", "boolean"], 2)}
        case "object":
            return _json_object(random, depth, draft)
        case "array":
            items: Any = _json_schema(random, depth + 1, draft)
            tuple_key = "prefixItems" if draft == "draft2020-12" else "items"
            made = (
                {"type": "array", "items": items}
                if random.random() < 0.6
                else {"type": "array", tuple_key: [items, {}]}
            )
            if tuple_key in made and isinstance(made[tuple_key], list) and tuple_key == "items":
                made["additionalItems"] = random.choice((True, False, {"type": "string"}))
            more = {"minItems": 1, "maxItems": 9, "uniqueItems": True, "contains": {"type": "integer"}}
            return made | {key: value for key, value in more.items() if random.random() < 0.25}
        case "combined":
            key = random.choice(("anyOf", "oneOf", "allOf"))
            return {key: [_json_schema(random, depth + 1, draft) for _ in range(random.randint(1, 3))]}
        case "not":
            return {"not": _json_schema(random, depth + 1, draft)}
        case "conditional" if draft not in ("draft4", "draft6"):
            parts = {key: _json_schema(random, depth + 1, draft) for key in ("if", "then", "else")}
            return {key: value for key, value in parts.items() if key == "if" or random.random() < 0.7}
        case "const" if draft != "draft4":
            return {"const": random.choice((1, "a", None))}
        case kind:
            return {"type": kind} if kind in ("boolean", "null") else {}


def _mutate_json(random: Random, node: Any, draft: str) -> None:
    if not node or any(key in _WORDS or key.startswith(("added", "^")) for key in node):
        return  # the schemas of properties, by name
    if "properties" in node and isinstance(node["properties"], dict) and random.random() < 0.5:
        properties = node["properties"]
        match random.randrange(4):
            case 0:
                properties[f"added{random.randint(0, 9)}"] = _json_schema(random, 2, draft)
            case 1 if properties:
                properties.pop(random.choice(list(properties)))
            case 2:
                node["required"] = sorted({*node.get("required", ()), random.choice([*properties, "other"])})
            case _:
                node["additionalProperties"] = not node.get("additionalProperties", True)
        return
    key = random.choice(list(node))
    value = node[key]
    if key in ("$schema", "definitions", "$defs", "properties", "$ref"):
        return
    if isinstance(value, bool):
        node[key] = not value
    elif isinstance(value, (int, float)):
        node[key] = max(0, value + random.choice((-1, 1, 4)))
    elif key == "type":
        node[key] = random.choice(("string", "number", "integer", ["string", "null"], "object"))
    elif key in ("anyOf", "oneOf", "allOf"):
        value.append(_json_schema(random, 3, draft)) if random.random() < 0.5 or len(value) < 2 else value.pop()
    elif isinstance(value, list) and len(value) > 1 and random.random() < 0.7:
        value.pop(random.randrange(len(value)))
    elif isinstance(value, list) and key == "enum":
        value.append("added")
    elif random.random() < 0.6:
        del node[key]
    else:
        node.update(_json_schema(random, 3, draft))


def _public_json(random: Random) -> Iterator[SchemaPair]:
    """Yield pairs of the schemas in the files of the JSON Schema Test Suite: each schema and the next in its file."""
    for draft, uri in _DRAFTS.items():
        for file in sorted((suite("json-schema") / "tests" / draft).glob("*.json")):
            if "-" in draft and random.random() < 0.9:  # the registry does not know these drafts
                continue
            schemas = [group["schema"] for group in json.loads(file.read_text(encoding="utf-8"))]
            for old, new in zip(schemas, [*schemas[1:], schemas[0]], strict=True):
                texts = [json.dumps({"$schema": uri} | each if isinstance(each, dict) else each) for each in (old, new)]
                first, second = random.sample(texts, 2)
                yield SchemaPair("json", first, second, f"{draft}/{file.name}")


_SCALARS = ("int32", "int64", "uint32", "sint64", "fixed32", "sfixed64", "double", "float", "bool", "string", "bytes")


def _random_protobuf(random: Random) -> SchemaPair:
    syntax = random.choice(("proto2", "proto3"))
    file: dict[str, Any] = {
        "syntax": syntax,
        "package": random.choice(("", "acme.orders")),
        "imports": [],
        "messages": [],
    }
    references: dict[str, str] = {}
    if random.random() < 0.08:
        references["money.proto"] = f'syntax = "{syntax}"; package acme; message Money {{ optional int64 units = 1; }}'
        file["imports"].append("money.proto")
    for number in range(random.randint(1, 3)):
        file["messages"].append(_proto_message(random, f"M{number}", 0, syntax))
    if references:
        file["messages"][0]["fields"].append(_proto_field("money", 90, "acme.Money", "optional"))
    if random.random() < 0.2:
        file["messages"][0]["fields"].append(_proto_field("at", 91, "google.protobuf.Timestamp", "optional"))
        file["imports"].append("google/protobuf/timestamp.proto")
    file["services"] = [["S", [["Get", "M0", "M0"], ["Put", "M0", "M0"]]]] if random.random() < 0.2 else []
    new = _mutated(random, file, lambda r, node: _mutate_proto(r, node, syntax))
    return SchemaPair("protobuf", _proto_text(file), _proto_text(new), f"random {syntax}", references)


def _proto_field(name: str, tag: int, kind: str, label: str = "", oneof: str = "", option: str = "") -> dict[str, Any]:
    return {"field": name, "tag": tag, "type": kind, "label": label, "oneof": oneof, "option": option}


def _proto_message(random: Random, name: str, depth: int, syntax: str) -> dict[str, Any]:
    message: dict[str, Any] = {
        "message": name,
        "fields": [],
        "messages": [],
        "enums": [],
        "reserved": [],
        "extensions": "",
    }
    if random.random() < 0.5:
        message["enums"].append(_proto_enum(random, f"{name}State"))
    if depth < 2 and random.random() < 0.4:
        message["messages"].append(_proto_message(random, f"{name}Inner", depth + 1, syntax))
    types = [
        *_SCALARS,
        *(each["message"] for each in message["messages"]),
        *(each["enum"] for each in message["enums"]),
    ]
    for tag, word in enumerate(random.sample(_WORDS, random.randint(1, 6)), start=1):
        kind, label, oneof = (
            random.choice(types),
            "optional" if syntax == "proto2" else random.choice(("", "optional")),
            "",
        )
        match random.randrange(8):
            case 0:
                label = "repeated"
            case 1:
                kind, label = f"map<{random.choice(('string', 'int32'))}, {random.choice(types)}>", ""
            case 2 | 3:
                label, oneof = "", "choice"
            case 4 if syntax == "proto2":
                label = "required"
        option = random.choice(("", "", "", "deprecated = true", f'json_name = "other_{word}"'))
        message["fields"].append(_proto_field(word, tag, kind, label, oneof, option))
    if random.random() < 0.4:
        message["reserved"] = random.sample(["20", "30 to 33", '"old_name"', '"gone"'], 2)
    if syntax == "proto2" and random.random() < 0.2:
        message["extensions"] = "100 to 199"
    return message


def _proto_enum(random: Random, name: str) -> dict[str, Any]:
    prefix = name.upper()
    values = [[f"{prefix}_{word.upper()}", tag] for tag, word in enumerate(_WORDS[: random.randint(2, 4)])]
    if random.random() < 0.3:
        values.append([f"{prefix}_ALIAS", 0])
    return {"enum": name, "values": values, "reserved": ["50"] if random.random() < 0.3 else []}


def _mutate_proto(random: Random, node: Any, syntax: str) -> None:
    if not isinstance(node, dict):
        return
    if "enum" in node:
        values = node["values"]
        match random.randrange(4):
            case 0:
                values.append([f"{node['enum'].upper()}_ADDED", 40])
            case 1 if len(values) > 1:
                values.pop()
            case 2:
                values[-1][0] += "_NEW"
            case _ if len(values) > 1:
                values[-1][1] = 41
    elif "field" in node:
        match random.randrange(6):
            case 0:
                node["type"] = random.choice(_SCALARS)
            case 1:
                node["field"] += "_new"
            case 2:
                node["tag"] += 40
            case 3 if not node["type"].startswith("map"):
                labels = ("optional", "repeated", "required") if syntax == "proto2" else ("", "repeated", "optional")
                node.update(label=random.choice(labels), oneof="")
            case 4 if not node["type"].startswith("map"):
                node.update(label="", oneof="other")
            case _:
                node["option"] = ""
    elif "message" in node:
        fields = node["fields"]
        match random.randrange(7):
            case 0:
                label = "" if syntax == "proto3" else random.choice(("optional", "required"))
                fields.append(_proto_field("added", 60, random.choice(_SCALARS), label))
            case 1 if len(fields) > 1:
                fields.pop()
            case 2 if len(fields) > 1:
                gone = fields.pop()
                node["reserved"] += [str(gone["tag"]), f'"{gone["field"]}"']
            case 3:
                node["reserved"] = node["reserved"][1:]
            case 4:
                node["messages"].append(_proto_message(random, "Added", 2, syntax))
            case 5:
                random.shuffle(fields)
            case _:
                node["extensions"] = ""
    elif "syntax" in node:
        match random.randrange(5):
            case 0:
                node["package"] = "acme.other"
            case 1 if len(node["messages"]) > 1 and not node["services"]:
                node["messages"].pop()
            case 2 if node["services"]:
                node["services"][0][1].pop()
            case 3 if node["services"]:
                node["services"][0][1][0][2] = node["messages"][-1]["message"]
            case _:
                node["messages"].append(_proto_message(random, "More", 1, syntax))


def _proto_text(file: Mapping[str, Any]) -> str:
    lines = [f'syntax = "{file["syntax"]}";', *(f'import "{name}";' for name in file["imports"])]
    lines += [f"package {file['package']};"] if file["package"] else []
    for message in file["messages"]:
        lines += _message_lines(message, "")
        if message["extensions"]:
            lines.append(f"extend {message['message']} {{ optional string ext_{message['message'].lower()} = 100; }}")
    for name, rpcs in file["services"]:
        lines += [f"service {name} {{", *(f"  rpc {rpc} ({a}) returns ({b});" for rpc, a, b in rpcs), "}"]
    return "\n".join(lines) + "\n"


def _message_lines(message: Mapping[str, Any], indent: str) -> Iterator[str]:
    yield f"{indent}message {message['message']} {{"
    for each in message["reserved"]:
        yield f"{indent}  reserved {each};"
    if message["extensions"]:
        yield f"{indent}  extensions {message['extensions']};"
    for enum in message["enums"]:
        yield f"{indent}  enum {enum['enum']} {{"
        tags = [tag for _, tag in enum["values"]]
        if len(tags) != len(set(tags)):
            yield f"{indent}    option allow_alias = true;"
        yield from (f"{indent}    reserved {each};" for each in enum["reserved"])
        yield from (f"{indent}    {name} = {tag};" for name, tag in enum["values"])
        yield f"{indent}  }}"
    for inner in message["messages"]:
        yield from _message_lines(inner, f"{indent}  ")
    for oneof in sorted({each["oneof"] for each in message["fields"]}):
        if oneof:
            yield f"{indent}  oneof {oneof} {{"
        for each in message["fields"]:
            if each["oneof"] == oneof:
                option = f" [{each['option']}]" if each["option"] else ""
                label = f"{each['label']} " if each["label"] else ""
                yield f"{indent}    {label}{each['type']} {each['field']} = {each['tag']}{option};"
        if oneof:
            yield f"{indent}  }}"
    yield f"{indent}}}"


def _public_protobuf(random: Random) -> Iterator[SchemaPair]:
    """Yield files of Google's common Protobuf types, each with an edited copy of its own text."""
    for file in sorted(Path(next(iter(google.rpc.__path__))).parent.rglob("*.proto")):
        text = re.sub(r"//[^\n]*", "", file.read_text(encoding="utf-8"))
        for _ in range(3):
            yield SchemaPair("protobuf", text, _edited_proto(random, text), str(file.name))


def _edited_proto(random: Random, text: str) -> str:
    lines = text.splitlines()
    fields = [
        index for index, line in enumerate(lines) if re.match(r"\s+(repeated |optional )?[\w.]+ \w+ = \d+;", line)
    ]
    for index in random.sample(fields, min(len(fields), random.randint(1, 2))):
        match random.randrange(4):
            case 0:
                lines[index] = ""
            case 1:
                lines[index] = re.sub(r" (\w+) = ", r" \1_new = ", lines[index])
            case 2:
                lines[index] = re.sub(r"= (\d+)", lambda tag: f"= {int(tag[1]) + 500}", lines[index])
            case _:
                lines[index] = re.sub(r"[\w.]+ (\w+ =)", r"bytes \1", lines[index])
    return "\n".join(lines)


def _mutated(random: Random, schema: Any, mutate: Callable[[Random, Any], None]) -> Any:
    """Return a copy of ``schema`` after up to three mutations of random nodes."""
    new = copy.deepcopy(schema)
    for _ in range(random.randint(1, 3)):
        mutate(random, random.choice(list(_nodes(new))))
    return new


def _nodes(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        yield schema
    for child in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from _nodes(child)


_RANDOM = {"avro": _random_avro, "json": _random_json, "protobuf": _random_protobuf}
_PUBLIC = {"avro": _public_avro, "json": _public_json, "protobuf": _public_protobuf}
