"""The properties of a resource type, and the answers to the engine that follow from these alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from topicwarden.kinds.properties import UNKNOWN, Properties, has_unknown, secret

DEFAULTS: Final = "__defaults"
"""The input that lists the properties whose values the provider chose."""


class Kind(StrEnum):
    """The type of a property's value."""

    TEXT = "text"
    NUMBER = "a whole number"
    MAP = "a map"
    LIST = "a list"


def one_of(known: Collection[str]) -> Callable[[str], str | None]:
    """Return the ``check`` of a property that has one of the values in ``known``."""
    return lambda value: None if value in known else f"expected one of {', '.join(known)}, got {value}"


@dataclass(frozen=True)
class PropertyType:
    """One property of a resource type.

    ``check`` returns what is wrong with a value, or None. A ``default`` appears in the outputs, and with
    ``default_in_inputs`` in the inputs, too. ``secret`` values are encrypted in the state. ``write_only`` values are
    not in the state at all: the provider keeps them from ``Check`` to the write.
    """

    kind: Kind = Kind.TEXT
    required: bool = False
    replaces: bool = False
    default: Any = None
    default_in_inputs: bool = False
    secret: bool = False
    write_only: bool = False
    check: Callable[[Any], str | None] = lambda _: None


@dataclass(frozen=True)
class Failure:
    """A property that is not as it must be, and the reason."""

    property: str
    reason: str


@dataclass(frozen=True)
class Difference:
    """The effect of a change of inputs on a resource. ``paths`` has the kind of each difference, by property path.

    A kind is Pulumi's: ``ADD``, ``DELETE`` or ``UPDATE``, with ``_REPLACE`` if it replaces the resource.
    """

    paths: Mapping[str, str] = field(default_factory=dict)
    changed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()


@dataclass(frozen=True)
class PulumiType:
    """A resource type of ``pulumi-kafka``.

    ``raw_state`` and ``meta`` are what the official provider keeps in the outputs to convert them back to Terraform's
    state. ``named`` is the property that gets the resource's name and a random suffix if it is missing. ``title`` names
    a resource in messages; None if its name does. ``permission`` is the operation that a refused write needs.
    """

    token: str
    properties: Mapping[str, PropertyType]
    id_of: Callable[[Properties], str]
    raw_state: Callable[[Properties], Properties]
    meta: str | None = None
    named: str | None = None
    replaces_if: Callable[[Properties, Properties], tuple[str, ...]] = lambda _old, _new: ()
    conflicts: Callable[[Properties], list[Failure]] = lambda _: []
    title: Callable[[Properties], str] | None = None
    permission: str | None = None

    def check(self, news: Properties, olds: Properties, new_name: str | None) -> tuple[Properties, list[Failure]]:
        """Return the inputs of a resource with defaults, and what is wrong with them.

        ``new_name`` is for a resource that is not named by its program; None if it must be.
        """
        inputs = {key: _without_nulls(value) for key, value in news.items() if key != DEFAULTS and value is not None}
        chosen = []
        for key, kind in self.properties.items():
            if key in inputs:
                inputs[key] = _converted(kind, inputs[key])
            elif kind.default_in_inputs:
                inputs[key] = kind.default
                chosen.append(key)
            elif key == self.named and new_name is not None:
                inputs[key] = olds[key] if key in (olds.get(DEFAULTS) or ()) else new_name
                chosen.append(key)
        failures = [*self._failures(inputs), *self.conflicts(inputs)]
        return {**inputs, DEFAULTS: chosen}, failures

    def _failures(self, inputs: Properties) -> list[Failure]:
        failures = [
            Failure(key, f"unknown property; expected one of {', '.join(self.properties)}")
            for key in inputs
            if key not in self.properties
        ]
        for key, kind in self.properties.items():
            value = inputs.get(key)
            if value is None and (kind.required or key == self.named):
                failures.append(Failure(key, "missing; it is required"))
            if value is None or value == UNKNOWN:
                continue
            reason = _mistyped(kind, value) or (None if has_unknown(value) else kind.check(value))
            if reason:
                failures.append(Failure(key, reason))
        return failures

    def difference(self, olds: Properties, news: Properties, ignored: Sequence[str] = ()) -> Difference:
        """Return what a change from the outputs ``olds`` to the inputs ``news`` does; those in ``ignored`` stay."""
        paths: dict[str, str] = {}
        changed, replaced = [], []
        forced = self.replaces_if(olds, news)
        for key, kind in self.properties.items():
            if key in ignored or kind.write_only:
                continue
            before, after = olds.get(key), news.get(key)
            if after is None and kind.default is not None:
                after = kind.default
            found = _paths(key, before or None, after or None) if kind.kind is Kind.MAP else _path(key, before, after)
            if not found:
                continue
            changed.append(key)
            replaces = kind.replaces or key in forced
            if replaces:
                replaced.append(key)
            paths |= {path: f"{change}_REPLACE" if replaces else change for path, change in found.items()}
        return Difference(paths, tuple(sorted(changed)), tuple(sorted(replaced)))

    def previewed(self, olds: Properties, news: Properties) -> Properties:
        """Return outputs that an update changes beside the inputs, before it happens; a type may have some."""
        return {}

    def stable(self, difference: Difference) -> tuple[str, ...]:
        """Return the properties that only a replacement changes, and that ``difference`` does not change."""
        return tuple(
            sorted(key for key, kind in self.properties.items() if kind.replaces and key not in difference.changed)
        )

    def inputs_read(self, found: Properties, inputs: Properties | None) -> Properties:
        """Return the inputs of a resource with the properties ``found``: those in ``inputs``; None for an import."""
        if inputs is not None:
            read = {key: _like(inputs[key], found[key]) for key in self.properties if key in inputs and key in found}
            return {**read, DEFAULTS: inputs[DEFAULTS]} if inputs.get(DEFAULTS) else read
        read = {
            key: {**value, DEFAULTS: []} if isinstance(value, dict) else value
            for key, value in found.items()
            if value is not None and not self._has_default(key, value)
        }
        return {**read, DEFAULTS: []}

    def _has_default(self, key: str, value: Any) -> bool:
        kind = self.properties[key]
        return kind.default_in_inputs and bool(value == kind.default)

    def marked(self, inputs: Properties, secrets: bool) -> Properties:
        """Return ``inputs`` with secrets marked, if the engine accepts marked ``secrets``."""
        if not secrets:
            return inputs
        kinds = self.properties
        return {key: secret(value) if key in kinds and kinds[key].secret else value for key, value in inputs.items()}

    def split_write_only(self, inputs: Properties) -> tuple[Properties, Properties]:
        """Return ``inputs`` without write-only values, and these: the state must not have them, even encrypted."""
        hidden = {key for key, kind in self.properties.items() if kind.write_only}
        return (
            {key: value for key, value in inputs.items() if key not in hidden},
            {key: value for key, value in inputs.items() if key in hidden},
        )

    def outputs(self, id: str, values: Properties, secrets: bool) -> Properties:
        """Return the outputs of a resource with these values; ``secrets``: the engine accepts marked secrets."""
        outputs: Properties = {"id": id}
        for key, kind in self.properties.items():
            value = None if kind.write_only else values.get(key, kind.default)
            if isinstance(value, dict):
                value = as_texts(value)
            if kind.secret:
                outputs[key] = secret(value) if secrets else value
            elif value is not None or not kind.required:
                outputs[key] = value
        if id != UNKNOWN:
            outputs["__pulumi_raw_state_delta"] = self.raw_state(outputs)
            if self.meta is not None:
                outputs["__meta"] = self.meta
        return outputs


def as_texts(values: Properties) -> dict[str, str]:
    """Return the entries of a map as Kafka takes them; null entries are left out."""
    return {name: _text(value) for name, value in values.items() if value is not None and name != DEFAULTS}


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _without_nulls(value: Any) -> Any:
    return {key: each for key, each in value.items() if each is not None} if isinstance(value, dict) else value


def _like(inputs: Any, found: Any) -> Any:
    """Return ``found``, of a map only the entries that ``inputs`` has."""
    if not isinstance(inputs, dict) or not isinstance(found, dict):
        return found
    return {name: value for name, value in as_texts(found).items() if name in inputs}


def _converted(kind: PropertyType, value: Any) -> Any:
    """Return ``value`` as the number that the property needs, if it can be one."""
    if kind.kind is not Kind.NUMBER or value == UNKNOWN:
        return value
    try:
        return float(int(value))
    except (TypeError, ValueError):
        return value


def _mistyped(kind: PropertyType, value: Any) -> str | None:
    expected = {Kind.TEXT: str, Kind.NUMBER: float, Kind.MAP: dict, Kind.LIST: list}[kind.kind]
    return None if isinstance(value, expected) else f"expected {kind.kind.value}, got {type(value).__name__}"


def _path(key: str, before: Any, after: Any) -> dict[str, str]:
    if before == after:
        return {}
    return {key: "ADD" if before is None else "DELETE" if after is None else "UPDATE"}


def _paths(key: str, before: Any, after: Any) -> dict[str, str]:
    """Return the differences of two maps, entry by entry."""
    if has_unknown(after):
        return {key: "UPDATE"} if before else {key: "ADD"}
    before, after = as_texts(before or {}), as_texts(after or {})
    found: dict[str, str] = {}
    for name in sorted({*before, *after}):
        found |= _path(f'{key}["{name}"]' if "." in name else f"{key}.{name}", before.get(name), after.get(name))
    return found
