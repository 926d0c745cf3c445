"""The property whose text decides which other properties an object has, and their types: a ``oneOf``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from topicwarden.audit.inference.inferred_rule import InferenceContext
from topicwarden.audit.inference.topic_summary import JsonShape, Variant, Variants

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
