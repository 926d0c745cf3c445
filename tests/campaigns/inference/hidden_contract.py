"""Draw a contract of JSON values, and values that meet it. The inference does not see the contract."""

from __future__ import annotations

import json
import random
import re
import string
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

MARK: Final = "zqxv"
"""Part of every text, and of every name that is data."""
MARKED_NUMBER: Final = 771_177_000_000
"""Added to every integer whose range is wide."""
PERSONAL: Final = "pqjz"
"""Part of every text in fields that look personal. No output shows it, also with --show-values."""

Draw: TypeAlias = Callable[[random.Random], Any]
Rule: TypeAlias = tuple[str, str, Any]
"""The path of a value, a keyword of JSON Schema, and its argument. ``*`` is any element, and ``+`` any name."""

VARIANT: Final = "variant"
"""In place of a keyword: the argument is the value of a discriminator, and the types of its required properties."""

_DEEPEST: Final = 4
_SCALARS: Final = 12
"""The number of kinds of values without others inside."""


@dataclass(frozen=True)
class Hidden:
    """A part of a contract: how to draw a value, and the rules that an inference should find in many values."""

    draw: Draw
    rules: tuple[Rule, ...]


@dataclass(frozen=True)
class _Field:
    value: Hidden
    presence: float = 1.0


def drawn_contract(source: random.Random) -> Hidden:
    """Return a contract of whole records: an object with several fields, or events of several types."""
    return _events(source) if source.random() < 0.2 else _object(source, "", depth=0)


def json_bytes(value: Any, source: random.Random) -> bytes:
    """Return ``value`` as JSON, with escapes or without, and with the literals of numbers that Python cannot hold."""
    escaped = source.random() < 0.5
    text = json.dumps(value, ensure_ascii=escaped)
    try:
        data = text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        data = json.dumps(value).encode()
    return re.sub(rb'"@@([^"@]+)@@"', rb"\1", data)


def _rule(path: str, keyword: str, value: Any) -> Rule:
    return path, keyword, value


def _name(source: random.Random, number: int) -> str:
    names = ["id", "größe", "state", "a b", "total", "x/y", "~", "$ref", "日付", "type", "properties"]
    return f"{source.choice(names)}_{number}"


def _fields(source: random.Random, path: str, depth: int, numbers: Sequence[int]) -> dict[str, _Field]:
    fields: dict[str, _Field] = {}
    for number in numbers:
        name = _name(source, number)
        presence = source.choice([1.0, 1.0, 0.9, 0.4, 0.02])
        fields[name] = _Field(_value(source, f"{path}/{name}", depth + 1), presence)
    return fields


def _object_of(path: str, fields: dict[str, _Field]) -> Hidden:
    def draw(random: random.Random) -> dict[str, Any]:
        return {name: each.value.draw(random) for name, each in fields.items() if random.random() < each.presence}

    required = [name for name, each in fields.items() if each.presence == 1.0]
    own = [_rule(path, "type", "object")] + ([_rule(path, "required", required)] if required else [])
    often = [each for each in fields.values() if each.presence >= 0.4]  # enough records have them
    return Hidden(draw, (*own, *(rule for each in often for rule in each.value.rules)))


def _is_unicode(text: str) -> bool:
    """Return whether a file can have the text: JSON may have half of a surrogate pair, and UTF-8 may not."""
    return not any("\ud800" <= each <= "\udfff" for each in text)


def _object(source: random.Random, path: str, depth: int) -> Hidden:
    return _object_of(path, _fields(source, path, depth, range(source.randint(1, 6))))


def _value(source: random.Random, path: str, depth: int) -> Hidden:
    scalars: list[Callable[[random.Random, str, int], Hidden]] = [
        _integer,
        _number,
        _text,
        _formatted,
        _formatted,
        _enumeration,
        _enumeration,
        _many_texts,
        _boolean,
        _nullable,
        _union,
        _personal,
    ]
    assert len(scalars) == _SCALARS
    nested: list[Callable[[random.Random, str, int], Hidden]] = [_object, _object, _array, _map, _map_of_words]
    return source.choice(scalars + (nested if depth < _DEEPEST else []))(source, path, depth)


def _integer(source: random.Random, path: str, _: int) -> Hidden:
    low, high = source.choice(
        [(0, 10), (-5, 5), (-(2**63), 2**63 - 1), (MARKED_NUMBER, MARKED_NUMBER + 9_999), (2**53, 2**65)]
    )
    edges = [low, high] if high - low > 100 else []
    return Hidden(
        lambda random: random.choice(edges) if edges and random.random() < 0.02 else random.randint(low, high),
        (_rule(path, "type", "integer"),),
    )


def _number(source: random.Random, path: str, _: int) -> Hidden:
    scale = source.choice([1.0, -1.0, 1e-300, 1e300])
    edges = [5e-324, 1.7976931348623157e308, -0.0, "@@1e400@@", "@@1E+2@@", "@@0.10@@", "@@-1.5e-400@@", 3]
    if source.random() < 0.6:
        edges = []

    def draw(random: random.Random) -> Any:
        return random.choice(edges) if edges and random.random() < 0.1 else (random.random() + 0.001) * scale

    return Hidden(draw, (_rule(path, "type", "number"),))


def _text(_source: random.Random, path: str, _: int) -> Hidden:
    def draw(random: random.Random) -> str:
        forms = ["", f"{MARK} {random.random()}", f"{MARK}\u00fc\U0001f600{random.randrange(10**6)}", f"\0{MARK}\u2028"]
        return random.choice([*forms, f"{MARK}\udc00{random.randrange(10**6)}"])

    return Hidden(draw, (_rule(path, "type", "string"),))


def _formatted(source: random.Random, path: str, _: int) -> Hidden:
    formats: list[tuple[str, Draw]] = [
        ("uuid", lambda random: str(uuid.UUID(int=random.getrandbits(128)))),
        ("date", lambda random: f"20{random.randrange(10, 99)}-{random.randrange(1, 13):02}-28"),
        (
            "date-time",
            lambda random: (
                f"2026-0{random.randrange(1, 10)}-17T{random.randrange(10, 24)}:59:00"
                f"{random.choice(['', '.5', '.123456789'])}{random.choice(['Z', '+02:00', '-11:30'])}"
            ),
        ),
        ("email", lambda random: f"{MARK}{random.randrange(10**6)}@example.org"),
        ("ipv4", lambda random: ".".join(str(random.randrange(256)) for _ in range(4))),
        ("uri", lambda random: f"https://example.org/{MARK}{random.randrange(10**6)}?q=%20#f"),
    ]
    name, draw = source.choice(formats)
    rare = source.random() < 0.15  # the exceptions of the format are few, but there are some
    rules = (_rule(path, "type", "string"),) + (() if rare else (_rule(path, "format", name),))
    return Hidden(lambda random: f"{MARK}?" if rare and random.random() < 0.05 else draw(random), rules)


def _enumeration(source: random.Random, path: str, _: int) -> Hidden:
    texts = [f"{MARK}-{letter}" for letter in string.ascii_letters[: source.randint(2, 8)]]
    texts += source.choice([[], [], [""], [f"{MARK}-é日\U0001f600"], [f"{MARK}\ud83d"], ["2026-01-31"]])
    steep = source.choice([1.0, 1.0, 0.5])
    frequencies = [steep**number for number in range(len(texts))]
    rare = 600 * frequencies[-1] / sum(frequencies) < 20  # some texts may be missing, or too few to be a rule
    few = not rare and all(map(_is_unicode, texts))
    rules = (_rule(path, "type", "string"),) + ((_rule(path, "enum", sorted(texts)),) if few else ())
    return Hidden(lambda random: random.choices(texts, frequencies)[0], rules)


def _many_texts(source: random.Random, path: str, _: int) -> Hidden:
    texts = [f"{MARK}-{number}" for number in range(source.randint(13, 40))]
    return Hidden(lambda random: random.choice(texts), (_rule(path, "type", "string"),))


def _boolean(_source: random.Random, path: str, _: int) -> Hidden:
    return Hidden(lambda random: random.random() < 0.5, (_rule(path, "type", "boolean"),))


def _nullable(source: random.Random, path: str, depth: int) -> Hidden:
    kinds = [_integer, _number, _text, _enumeration, _formatted, *([_object, _array] if depth < _DEEPEST else [])]
    inner = source.choice(kinds)(source, path, depth)

    def with_null(rule: Rule) -> Rule:
        at, keyword, value = rule
        if at != path or keyword not in ("type", "enum"):
            return rule
        return _rule(at, keyword, ["null", value] if keyword == "type" else [*value, None])

    rules = tuple(map(with_null, inner.rules))
    return Hidden(lambda random: None if random.random() < 0.3 else inner.draw(random), rules)


def _union(source: random.Random, path: str, depth: int) -> Hidden:
    others = [_text, _boolean, *([_array, _map, _object] if depth < _DEEPEST else [])]
    parts = [_integer(source, path, depth), source.choice(others)(source, path, depth)]
    types = [value for part in parts for at, keyword, value in part.rules if (at, keyword) == (path, "type")]
    rules = (
        _rule(path, "type", types),
        *(rule for part in parts for rule in part.rules if rule[:2] != (path, "type")),
    )
    return Hidden(lambda random: random.choice(parts).draw(random), rules)


def _personal(source: random.Random, path: str, depth: int) -> Hidden:
    """Return a field whose name or text looks personal, and which has few texts."""
    few = [f"{PERSONAL}-{letter}" for letter in "abc"]
    by_text = source.random() < 0.3
    if by_text:
        few = [f"{PERSONAL}{letter}@example.org" for letter in "abc"]
        name = "contact"
    else:
        name = source.choice(["email", "surname", "iban", "Passport-Number", "date of birth"])
    below = source.random()
    leaf: Draw = lambda random: random.choice(few)  # noqa: E731 -- wrapped below
    if below < 0.3 and not by_text:
        draw: Draw = lambda random: {name: {"inner": leaf(random), "list": [leaf(random)]}}  # noqa: E731
    elif below < 0.6:
        draw = lambda random: {name: [leaf(random)]}  # noqa: E731
    else:
        draw = lambda random: {name: leaf(random)}  # noqa: E731
    return Hidden(draw, (_rule(path, "type", "object"), _rule(path, "required", [name])))


def _array(source: random.Random, path: str, depth: int) -> Hidden:
    inner = _value(source, f"{path}/*", depth + 1)
    least = source.choice([0, 1])
    rules = (_rule(path, "type", "array"), *inner.rules)
    return Hidden(lambda random: [inner.draw(random) for _ in range(random.randrange(least, 4))], rules)


def _map(source: random.Random, path: str, depth: int) -> Hidden:
    inner = _value(source, f"{path}/+", depth + 1)
    form = source.choice(["{}{:07}", "{}{}@example.org", "{}-10.0.0.{}", "2026-01-{1:02.0f}-{0}{1}"])

    def draw(random: random.Random) -> dict[str, Any]:
        names = [form.format(MARK, random.randrange(10**5, 10**7)) for _ in range(random.randrange(1, 4))]
        return {name: inner.draw(random) for name in names}

    return Hidden(draw, (_rule(path, "type", "object"), *inner.rules))


def _map_of_words(source: random.Random, path: str, depth: int) -> Hidden:
    """Return a map with names that do not look like data: more than an object may have, or few in each object."""
    inner = source.choice([_integer, _number, _text, _enumeration])(source, f"{path}/+", depth + 1)
    words = [MARK + "".join(source.choices(string.ascii_lowercase, k=5)) for _ in range(source.choice([60, 400]))]

    def draw(random: random.Random) -> dict[str, Any]:
        return {name: inner.draw(random) for name in random.sample(words, random.randrange(1, 4))}

    return Hidden(draw, (_rule(path, "type", "object"), *inner.rules))


def _events(source: random.Random) -> Hidden:
    """Return events of several types: the value of one field decides which fields there are."""
    common = _fields(source, "", _DEEPEST, range(source.randint(0, 2)))
    at, payload = source.choice([("/kind", ""), ("/kind", "/data"), ("/meta/type", ""), ("/meta/type", "/data")])
    names = [f"{MARK}.{name}" for name in ("Placed", "Paid", "Shipped", "Lost")[: source.randint(2, 4)]]
    variants: dict[str, dict[str, _Field]] = {}
    for number, name in enumerate(names):
        fields = {
            f"only {number}": _Field(_scalar(source)),
            f"sometimes {number}": _Field(_scalar(source), 0.5),
            "amount": _Field(_integer(source, "", 0) if number % 2 else _text(source, "", 0)),
        }
        variants[name] = fields if source.random() < 0.7 else {**fields, f"more {number}": _Field(_scalar(source))}
    frequencies = [source.choice([1.0, 0.3]) for _ in names]

    def draw(random: random.Random) -> dict[str, Any]:
        name = random.choices(names, frequencies)[0]
        own = _object_of("", variants[name]).draw(random)
        record: dict[str, Any] = _object_of("", common).draw(random) | ({"data": own} if payload else own)
        return record | ({"kind": name} if at == "/kind" else {"meta": {"type": name}})

    def types(fields: dict[str, _Field]) -> dict[str, Any]:
        required = {name: each.value.rules for name, each in fields.items() if each.presence == 1.0}
        return {name: next(rule[2] for rule in rules if rule[1] == "type") for name, rules in required.items()}

    rules = [_rule("", "type", "object")]
    rules += [_rule(payload, VARIANT, (name, types(fields))) for name, fields in variants.items()]
    return Hidden(draw, tuple(rules))


def _scalar(source: random.Random) -> Hidden:
    return source.choice([_integer, _text, _boolean, _enumeration])(source, "", _DEEPEST)
