"""The JSON Schema that all values meet. The evidence of each rule is a ``$comment`` beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from topicwarden.audit.inference.inferred_rule import InferenceContext
from topicwarden.audit.inference.topic_summary import JSON_TYPES, NO_RECORD, JsonShape, Tally, Variant, Variants

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_FORMATS: Final = ("uuid", "date-time", "date", "email", "ipv4", "uri")
_MOST_TEXTS: Final = 12
_LEAST_OF_A_TEXT: Final = 10
"""An enumeration has at most this number of texts, and each one this number of times."""
_RARE: Final = 0.1
"""The exceptions of a stricter rule are named if they are at most this share of the values."""
_KINDS: Final = (("boolean",), ("integer", "number"), ("string",), ("array",), ("object",))


def json_schema(shape: JsonShape, context: InferenceContext, variants: Variants | None = None) -> dict[str, Any]:
    """Return the schema of all values of a topic. ``variants`` are those of its objects."""
    schema = {"$schema": DIALECT, **_schema(shape, context, "value")}
    if schema.get("type") != "object":
        return schema
    found = discriminator(variants or {}, shape, context)
    if found is None:
        comment = "no oneOf: no property with few texts decides about the other properties"
        return _commented(schema, comment) if _is_mixed(shape) else schema
    decides = f"{found.path} decides about {_counted(found.decided, 'other property', 'other properties')}"
    texts = _counted(len(found.objects), "text")
    if not context.shows_values:
        return _commented(schema, f"{decides}: --show-values writes its {texts} as oneOf")
    return {**_commented(schema, f"oneOf of {texts}: {decides}"), "oneOf": found.branches()}


def _commented(schema: Mapping[str, Any], comment: str) -> dict[str, Any]:
    return {**schema, "$comment": f"{schema['$comment']}; {comment}"}


def _is_mixed(shape: JsonShape) -> bool:
    """Return whether many objects lack a property, or have it with another type."""
    return any(
        each.missing.count > _RARE * shape.total
        or each.total - each.count("null") - max(each.count(*kinds) for kinds in _KINDS) > _RARE * each.total
        or _is_mixed(each)
        for each in shape.fields.values()
    )


def _schema(shape: JsonShape, context: InferenceContext, noun: str) -> dict[str, Any]:
    """Return the schema of ``shape``; ``noun`` names one of its values in comments."""
    total = shape.total
    if total < context.records_needed or total == shape.count("null"):
        found = ", ".join(name for name in JSON_TYPES if shape.count(name))
        return {"$comment": f"no rule: {found or 'nothing'} in {_counted(total, noun)}"}
    types = [name for name in JSON_TYPES if shape.count(name)]
    comments = [f"{_counted(total, noun)}"]
    if "number" in types and "integer" in types:
        types.remove("integer")
        comments += _exceptions("not integer", shape.types["number"], shape.count("integer", "number"))
    main = max(types, key=shape.count)
    comments += [f"{name}: {shape.types[name].among(total)}" for name in types if name != main]
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    if "string" in types:
        schema |= _text_rules(shape, types, context, comments)
    if types in (["integer"], ["number"], ["null", "integer"], ["null", "number"]):
        schema |= _bounds(shape, context, comments)
    if "array" in types:
        schema |= _array(shape, context, comments)
    if "object" in types:
        schema |= _object(shape, context, comments)
    return {"$comment": "; ".join(comments), **schema}


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def _exceptions(rule: str, tally: Tally, total: int) -> Iterator[str]:
    """Yield the comment on a stricter rule that few values break."""
    if 0 < tally.count <= _RARE * total:
        yield f"{rule}: {tally.among(total)}"


def _text_rules(shape: JsonShape, types: list[str], context: InferenceContext, comments: list[str]) -> dict[str, Any]:
    texts = shape.count("string")
    exceptions = {name: shape.not_in_format.get(name, NO_RECORD) for name in _FORMATS}
    rules: dict[str, Any] = {}
    if format := next((name for name in _FORMATS if not exceptions[name].count), None):
        rules["format"] = format
    else:
        nearest = min(_FORMATS, key=lambda name: exceptions[name].count)
        comments += _exceptions(f"not {nearest}", exceptions[nearest], texts)
    counts = shape.texts
    few = counts is not None and 1 < len(counts) <= _MOST_TEXTS and min(counts.values()) >= _LEAST_OF_A_TEXT
    if counts is None or not few or shape.personal or texts < context.records_needed or {*types} - {"null", "string"}:
        return rules
    number = _counted(len(counts), "text")
    if context.shows_values:
        comments.append(f"enum of {number} in {_counted(texts, 'value')}")
        return rules | {"enum": [*sorted(counts), *([None] if "null" in types else [])]}
    comments.append(f"{number} only: --show-values writes them as an enum")
    return rules


def _bounds(shape: JsonShape, context: InferenceContext, comments: list[str]) -> dict[str, Any]:
    """Return the bound that means something: most numbers that are never negative cannot be."""
    if not context.shows_values or shape.personal or shape.minimum is None or shape.maximum is None:
        return {}
    comments.append(f"from {shape.minimum} to {shape.maximum}")
    return {"minimum": 0} if Decimal(shape.minimum) >= 0 else {}


def _array(shape: JsonShape, context: InferenceContext, comments: list[str]) -> dict[str, Any]:
    if shape.cut:
        comments.append("nested too deeply, or too many names: not looked into")
    return {"items": _schema(shape.items, context, "element")} if shape.items else {}


def _object(shape: JsonShape, context: InferenceContext, comments: list[str]) -> dict[str, Any]:
    objects = shape.count("object")
    if shape.cut:
        if "array" not in shape.types:
            comments.append("nested too deeply, or too many names: not looked into")
        return {}
    rules: dict[str, Any] = {}
    if shape.fields:
        rules["properties"] = {name: _property(each, objects, context) for name, each in shape.fields.items()}
    required = [name for name, each in shape.fields.items() if not each.missing.count]
    if required and objects >= context.records_needed:
        rules["required"] = required
    if shape.others:
        comments.append("names that are data are not listed")
    if shape.others and not shape.fields:  # else a new name beside the listed ones would have to be like the data
        rules["additionalProperties"] = _schema(shape.others, context, "value")
    return rules


def _property(shape: JsonShape, objects: int, context: InferenceContext) -> dict[str, Any]:
    schema = _schema(shape, context, "value")
    if shape.missing.count:
        missing = f"not required: missing in {shape.missing.among(objects)}"
        schema["$comment"] = f"{schema['$comment']}; {missing}"
    return schema


def tightened(declared: Any, inferred: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield what ``inferred`` says and ``declared`` does not: the path of the value, and the rule with its evidence.

    A rule of the declared schema that is not of the simple forms that an inference writes is taken to say more.
    """
    if not isinstance(declared, Mapping) or declared.keys() & {"$ref", "allOf", "anyOf", "oneOf", "if", "not"}:
        return
    evidence = inferred.get("$comment", "")
    for keyword in ("type", "format", "enum", "minimum"):
        if keyword in inferred and not declared.keys() & {keyword, "const", "enum"}:
            yield path or "/", f"{keyword}: {_text(inferred[keyword])}  # {evidence}"
    missing = [name for name in inferred.get("required", ()) if name not in declared.get("required", ())]
    if missing:
        yield path or "/", f"required: {_text(missing)}  # {evidence}"
    if "oneOf" in inferred and "oneOf" not in declared:
        yield path or "/", f"oneOf: {len(inferred['oneOf'])} variants  # {evidence}"
    properties = declared.get("properties", {})
    for name, each in inferred.get("properties", {}).items():
        at = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        if name in properties:
            yield from tightened(properties[name], each, at)
        elif declared.get("additionalProperties") in (None, True) and "type" in each:
            yield at, f"type: {_text(each['type'])}  # not declared; {each['$comment']}"
    if "items" in inferred and isinstance(declared.get("items"), Mapping):
        yield from tightened(declared["items"], inferred["items"], f"{path}/*")


def _text(value: Any) -> str:
    return f"[{', '.join(map(_text, value))}]" if isinstance(value, list) else "null" if value is None else str(value)


LEAST_OBJECTS: Final = 10
"""A discriminator has each of its texts this number of times."""
_CHANCE: Final = 1e-9
"""What is at most this likely for a text that decides nothing is no chance."""


@dataclass(frozen=True)
class Requirement:
    """A rule for all objects with one text: at ``path``, there is a property, if ``required``, of ``types``, if any."""

    path: str
    required: bool
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Discriminator:
    """A property at ``path``, a JSON pointer, with the number of objects and the requirements of each text."""

    path: str
    objects: Mapping[str, int]
    requirements: Mapping[str, tuple[Requirement, ...]]

    @property
    def decided(self) -> int:
        """The number of properties that depend on it."""
        return len({each.path for requirements in self.requirements.values() for each in requirements})

    def branches(self) -> list[dict[str, Any]]:
        """Return the schemas of ``oneOf``, one for each text."""
        return [_branch(self, text, self.objects[text], each) for text, each in self.requirements.items()]


def discriminator(variants: Variants, shape: JsonShape, context: InferenceContext) -> Discriminator | None:
    """Return the property that decides about most others; None if no property decides about any."""
    found = [
        Discriminator(
            path,
            {text: each.objects for text, each in by_text.items()},
            {text: tuple(_requirements(text, by_text, shape, context)) for text in sorted(by_text)},
        )
        for path, by_text in variants.items()
        if _may_be_shown(shape.at(path))
        and len(by_text) > 1
        and min(each.objects for each in by_text.values()) >= LEAST_OBJECTS
    ]
    return min(
        (each for each in found if each.decided),
        key=lambda each: (-each.decided, len(each.objects), each.path),
        default=None,
    )


def _may_be_shown(shape: JsonShape | None) -> bool:
    """Return whether the name of a property is no data, and its texts do not look personal."""
    return shape is not None and not shape.personal


def _requirements(
    text: str, by_text: Mapping[str, Variant], shape: JsonShape, context: InferenceContext
) -> Iterator[Requirement]:
    """Yield what the objects with ``text`` have, and others have not."""
    own = by_text[text]
    for path in own.properties:
        found = shape.at(path)
        if found is None or not own.has_parent(path):  # its name is data
            continue
        property = own.properties[path]
        certain = property.count >= context.records_needed
        others = [each for each in by_text.values() if each.has_parent(path)]
        share = sum(each.count(path) for each in others) / sum(each.parents(path) for each in others)
        is_required = property.count == own.parents(path) and share < 1
        decides = any(_never_by_chance(share, each, path) for each in others)
        required = is_required and decides and (certain or share**property.count <= _CHANCE)
        types = tuple(name for name in found.type_names if name in property.types)
        narrower = _is_narrower(types, property.count, found)
        if required or narrower:
            yield Requirement(path, required, types if narrower and (certain or "null" not in found.type_names) else ())


def _never_by_chance(share: float, variant: Variant, path: str) -> bool:
    """Return whether all or none of the objects have the property, which is unlikely if only chance decides."""
    count, parents = variant.count(path), variant.parents(path)
    return (count == parents and share**parents <= _CHANCE) or (count == 0 and (1 - share) ** parents <= _CHANCE)


def _is_narrower(types: tuple[str, ...], count: int, shape: JsonShape) -> bool:
    """Return whether values of one type are unlikely if only chance decides."""
    real = [name for name in types if name != "null"]
    others = shape.total - shape.count("null")
    return len(real) == 1 and shape.count(real[0]) < others and (shape.count(real[0]) / others) ** count <= _CHANCE


def _branch(of: Discriminator, text: str, objects: int, requirements: tuple[Requirement, ...]) -> dict[str, Any]:
    branch: dict[str, Any] = {"$comment": f"{objects:,} values"}
    _set(branch, of.path, {"const": text}, required=True)
    for each in requirements:
        types = each.types[0] if len(each.types) == 1 else list(each.types)
        _set(branch, each.path, {"type": types} if each.types else {}, required=each.required)
    return branch


def _set(schema: dict[str, Any], path: str, rules: Mapping[str, Any], *, required: bool) -> None:
    """Write the rules of the property at ``path`` into an object's schema."""
    at = schema
    *parents, name = [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]
    for parent in parents:
        at = at.setdefault("properties", {}).setdefault(parent, {})
    if rules:
        at.setdefault("properties", {}).setdefault(name, {}).update(rules)
    if required:
        at.setdefault("required", []).append(name)
