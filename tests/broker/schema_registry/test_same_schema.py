"""Test the equality of schemas: on plain values, and that the real registry agrees on random pairs."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from topicwarden.kafka.registry.client import RegistryClient
from topicwarden.kafka.registry.read import find_version
from topicwarden.kafka.registry.same_schema import same
from topicwarden.kafka.registry.write import register
from topicwarden.model.subject import RegisteredSchema
from topicwarden.specs.stacks.registry_settings import RegistrySettings

SEED = int(os.environ.get("TOPICWARDEN_SEED", "1"))
PAIRS = int(os.environ.get("TOPICWARDEN_AGREEMENTS", "40"))
DRAFT = "http://json-schema.org/draft-07/schema#"


def avro(chance: random.Random) -> Any:
    """Return a random record with nested types, docs, aliases, defaults and attributes."""
    fields: list[Any] = []
    for number in range(chance.randint(1, 4)):
        kind: Any = chance.choice(
            [
                "int",
                "string",
                ["null", "double"],
                {"type": "long", "logicalType": "timestamp-millis"},
                {"type": "array", "items": "string"},
                {"type": "map", "values": {"type": "bytes"}},
                {"type": "enum", "name": f"E{number}", "symbols": ["A", "B"], "default": "A"},
                {"type": "fixed", "name": f"x.F{number}", "size": 4, "doc": "d"},
                {"type": "record", "name": f"R{number}", "fields": [{"name": "a", "type": "int", "default": 1}]},
            ]
        )
        field = {"name": f"f{number}", "type": kind}
        if kind == "int":
            field |= chance.choice([{}, {"default": chance.randint(0, 2)}, {"doc": "é"}, {"aliases": ["old"]}])
        fields.append(field | chance.choice([{}, {"order": "ascending"}, {"owner": {"b": 1, "a": [1, 2.50]}}]))
    return {"type": "record", "name": "Top", "namespace": "shop.orders", "fields": fields}


def json_schema(chance: random.Random) -> Any:
    """Return a random JSON Schema of an object."""
    names = [f"p{number}" for number in range(chance.randint(1, 4))]
    kinds: list[Any] = [
        {"type": "string", "maxLength": chance.randint(1, 9)},
        {"type": "number", "minimum": 0.5},
        {"enum": ["a", 1, None, True]},
        {"type": "array", "items": {"type": "integer"}},
        {"$ref": "#/definitions/d"},
    ]
    return {
        "$schema": DRAFT,
        "type": "object",
        "title": "é",
        "definitions": {"d": {"type": "boolean"}},
        "properties": {name: chance.choice(kinds) for name in names},
        "required": chance.sample(names, chance.randint(1, len(names))),
    }


def shuffled(value: Any, chance: random.Random) -> Any:
    """Return JSON with the keys of each object in a random order."""
    if isinstance(value, dict):
        pairs = [(key, shuffled(each, chance)) for key, each in value.items()]
        return dict(chance.sample(pairs, len(pairs)))
    return [shuffled(each, chance) for each in value] if isinstance(value, list) else value


def changed(value: Any, chance: random.Random) -> Any:
    """Return JSON with one leaf, key or element changed, which may make it another schema or none."""
    text = json.dumps(value)
    leaves = list(re.finditer(r'"doc": "[^"]*"|"default": [^,}]*|"old"|"B"|\b\d+\b|"f\d"|"p\d"|"owner"', text))
    if not leaves:
        return value
    leaf = chance.choice(leaves)
    replaced = {'"B"': '"C"', '"old"': '"older"', '"owner"': '"team"'}.get(leaf[0])
    if replaced is None:
        replaced = re.sub(r"\d+", lambda number: str(int(number[0]) + 1), leaf[0]).replace('"d"', '"e"')
    return json.loads(text[: leaf.start()] + replaced + text[leaf.end() :])


def json_pair(schema: Callable[[random.Random], Any], chance: random.Random) -> tuple[str, str]:
    first = schema(chance)
    second = changed(first, chance) if chance.random() < 0.4 else first
    if chance.random() < 0.6:
        second = shuffled(second, chance)
    form: dict[str, Any] = chance.choice([{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])
    return json.dumps(first), json.dumps(second, **form)


def proto_pair(chance: random.Random) -> tuple[str, str]:
    fields = [
        chance.choice([f"string s{number} = {number};", f"repeated int32 r{number} = {number} [deprecated = true];"])
        for number in range(1, chance.randint(2, 5))
    ]
    comment = chance.choice(["", "// the order\n", "/* the\n order */\n"])
    lines = ['syntax = "proto3";', "package shop;", f"{comment}message Order {{", *fields, "enum E { A = 0; }", "}"]
    first = "\n".join(lines)
    second = first
    for _ in range(chance.randint(0, 2)):
        second = chance.choice(EDITS)(second)
    return first, second


EDITS: list[Callable[[str], str]] = [
    lambda text: text.replace(" = ", "=").replace("{", "{\n"),
    lambda text: re.sub(r"\n", "\n\n  ", text),
    lambda text: text.replace("the order", "an order"),
    lambda text: text.replace("A = 0", "B = 0"),
    lambda text: text.replace("s1", "t1"),
    lambda text: text + "\n// the end\n",
    lambda text: text.replace('"proto3"', "'proto3'"),
    lambda text: text.replace("[deprecated = true]", "[ deprecated=true ]"),
]


PAIRS_OF: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "avro": lambda chance: json_pair(avro, chance),
    "json": lambda chance: json_pair(json_schema, chance),
    "protobuf": proto_pair,
}


@pytest.mark.parametrize("format", PAIRS_OF)
def test_schemas_that_are_the_same_are_one_version_in_the_registry(registry_url: str, format: str) -> None:
    chance = random.Random(SEED)
    equal = found = 0
    with RegistryClient(RegistrySettings(registry_url)) as client:
        for number in range(PAIRS):
            one, other = (RegisteredSchema(format, text) for text in PAIRS_OF[format](chance))
            subject = f"same-{format}-{SEED}-{number}"
            version = register(client, subject, one)
            looked_up = find_version(client, subject, other)
            equal += same(one, other)
            found += looked_up is not None
            assert same(one, version.schema)
            if same(one, other):
                assert looked_up == version, (one.text, other.text)
                assert register(client, subject, other) == version
    assert 0 < equal <= found < PAIRS
