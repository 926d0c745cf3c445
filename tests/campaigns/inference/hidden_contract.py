"""Draw a contract of JSON values, and values that meet it. The inference does not see the contract."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

MARK: Final = "zqxv"
"""Part of every text, and of every key of a map."""
MARKED_NUMBER: Final = 771_177_000_000
"""Added to every integer whose range is wide."""

Draw: TypeAlias = Callable[[random.Random], Any]
Rule: TypeAlias = tuple[str, str, Any]
"""The path of a value, a keyword of JSON Schema, and what it says."""


@dataclass(frozen=True)
class Hidden:
    """A part of a contract: how to draw a value, and the rules that an inference should find in many values."""

    draw: Draw
    rules: tuple[Rule, ...]


def drawn_contract(source: random.Random) -> Hidden:
    """Return a contract of whole records: an object with several fields."""
    return _object(source, "", depth=0)


def _rule(path: str, keyword: str, value: Any) -> Rule:
    return path, keyword, value


def _object(source: random.Random, path: str, depth: int) -> Hidden:
    fields: dict[str, tuple[Hidden, float]] = {}
    for number in range(source.randint(2, 6)):
        name = f"{source.choice(['id', 'größe', 'state', 'a b', 'total', 'x/y'])}_{number}"
        presence = source.choice([1.0, 1.0, 0.9, 0.4])
        fields[name] = _value(source, f"{path}/{name}", depth + 1), presence

    def draw(random: random.Random) -> dict[str, Any]:
        return {name: each.draw(random) for name, (each, presence) in fields.items() if random.random() < presence}

    required = [name for name, (_, presence) in fields.items() if presence == 1.0]
    own = [_rule(path, "type", "object")] + ([_rule(path, "required", required)] if required else [])
    return Hidden(draw, (*own, *(rule for each, _ in fields.values() for rule in each.rules)))


def _value(source: random.Random, path: str, depth: int) -> Hidden:
    kinds: list[Callable[[random.Random, str, int], Hidden]] = [
        _integer,
        _number,
        _text,
        _formatted,
        _enumeration,
        _boolean,
        _nullable,
        _union,
    ]
    kinds += [_object, _array, _map] if depth < 4 else []
    return source.choice(kinds)(source, path, depth)


def _integer(source: random.Random, path: str, _: int) -> Hidden:
    low, high = source.choice([(0, 10), (-(2**63), 2**63 - 1), (MARKED_NUMBER, MARKED_NUMBER + 9_999), (2**53, 2**65)])
    return Hidden(lambda random: random.randint(low, high), (_rule(path, "type", "integer"),))


def _number(source: random.Random, path: str, _: int) -> Hidden:
    scale = source.choice([1.0, 1e-300, 1e300])
    return Hidden(lambda random: (random.random() + 0.001) * scale, (_rule(path, "type", "number"),))


def _text(_source: random.Random, path: str, _: int) -> Hidden:
    def draw(random: random.Random) -> str:
        return random.choice(["", f"{MARK} {random.random()}", f"{MARK}\u00fc\U0001f600{random.randrange(10**6)}"])

    return Hidden(draw, (_rule(path, "type", "string"),))


def _formatted(source: random.Random, path: str, _: int) -> Hidden:
    name, draw = source.choice(
        [
            ("uuid", lambda random: str(uuid.UUID(int=random.getrandbits(128)))),
            ("date", lambda random: f"20{random.randrange(10, 99)}-{random.randrange(1, 13):02}-28"),
            ("date-time", lambda random: f"2026-0{random.randrange(1, 10)}-17T{random.randrange(10, 24)}:59:00.5Z"),
            ("email", lambda random: f"{MARK}{random.randrange(10**6)}@example.org"),
            ("ipv4", lambda random: ".".join(str(random.randrange(256)) for _ in range(4))),
            ("uri", lambda random: f"https://example.org/{MARK}{random.randrange(10**6)}"),
        ]
    )
    return Hidden(draw, (_rule(path, "type", "string"), _rule(path, "format", name)))


def _enumeration(source: random.Random, path: str, _: int) -> Hidden:
    texts = [f"{MARK}-{letter}" for letter in "abcdefgh"[: source.randint(2, 6)]]
    rules = (_rule(path, "type", "string"), _rule(path, "enum", sorted(texts)))
    return Hidden(lambda random: random.choice(texts), rules)


def _boolean(_source: random.Random, path: str, _: int) -> Hidden:
    return Hidden(lambda random: random.random() < 0.5, (_rule(path, "type", "boolean"),))


def _nullable(source: random.Random, path: str, _: int) -> Hidden:
    inner = source.choice([_integer, _number])(source, path, 0)
    rules = tuple(_rule(at, keyword, ["null", value]) for at, keyword, value in inner.rules)
    return Hidden(lambda random: None if random.random() < 0.3 else inner.draw(random), rules)


def _union(source: random.Random, path: str, _: int) -> Hidden:
    inner = _integer(source, path, 0)
    rules = (_rule(path, "type", ["integer", "string"]),)
    return Hidden(lambda random: f"{MARK}{random.random()}" if random.random() < 0.5 else inner.draw(random), rules)


def _array(source: random.Random, path: str, depth: int) -> Hidden:
    inner = _value(source, f"{path}/*", depth + 1)
    rules = (_rule(path, "type", "array"), *inner.rules)
    return Hidden(lambda random: [inner.draw(random) for _ in range(random.randrange(1, 4))], rules)


def _map(source: random.Random, path: str, depth: int) -> Hidden:
    inner = _value(source, f"{path}/+", depth + 1)

    def draw(random: random.Random) -> dict[str, Any]:
        return {f"{MARK}{random.randrange(10**6, 10**7)}": inner.draw(random) for _ in range(random.randrange(1, 4))}

    return Hidden(draw, (_rule(path, "type", "object"), *inner.rules))


def found_rules(schema: Mapping[str, Any], path: str = "") -> Iterator[Rule]:
    """Yield the rules of an inferred schema, as contracts write them. ``*`` is any element, and ``+`` any name."""
    for keyword in ("type", "format", "enum", "required"):
        if keyword in schema:
            yield _rule(path, keyword, schema[keyword])
    for name, each in schema.get("properties", {}).items():
        yield from found_rules(each, f"{path}/{name}")
    if "items" in schema:
        yield from found_rules(schema["items"], f"{path}/*")
    if "additionalProperties" in schema:
        yield from found_rules(schema["additionalProperties"], f"{path}/+")


def is_found(rule: Rule, schema: Mapping[str, Any]) -> bool:
    """Return whether an inferred schema has a rule. The order of names and types has no meaning."""

    def sort(value: Any) -> Any:
        return sorted(value) if isinstance(value, list) else value

    at, keyword, value = rule
    return (at, keyword, sort(value)) in [(path, found, sort(each)) for path, found, each in found_rules(schema)]
