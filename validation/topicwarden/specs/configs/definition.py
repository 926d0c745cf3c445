"""One topic configuration in the words of Kafka's ``ConfigDef``: its type, bounds and choices, and what it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from topicwarden.specs import message_text

_WHOLE: Final = {"short": 1 << 15, "int": 1 << 31, "long": 1 << 63}
_RANGE: Final = re.compile(r"\[(-?[0-9.]+),\.\.\.,?(-?[0-9.]+)?\](?: or (-?[0-9]+))?")
_CHOICES: Final = re.compile(r"\[([\w.-]+(?:, [\w.-]+)*)\]")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MANY: Final = 20
_THROTTLED: Final = "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


@dataclass(frozen=True)
class ConfigDefinition:
    """One topic configuration, in the words of ``org.apache.kafka.common.config.ConfigDef.ConfigKey``.

    ``type`` is boolean, string, int, long, double or list; ``default`` is Kafka's, spelled as Kafka spells it;
    ``validator`` is what Kafka's validator prints, such as ``[1,...,9] or -1``; ``server_default`` is the broker's
    property that holds where the topic sets nothing. ``since`` and ``until`` are the first and the last line of Kafka
    in the catalogue that has it.
    """

    name: str
    type: str
    default: str | None
    validator: str | None
    server_default: str | None
    importance: str
    documentation: str
    since: str
    until: str

    @property
    def deprecated(self) -> bool:
        """Whether Kafka itself calls it so."""
        return self.documentation.startswith("[DEPRECATED]")

    @cached_property
    def bounds(self) -> tuple[float | None, float | None]:
        """The least and the greatest number allowed; None where Kafka's validator sets no such bound."""
        match = _RANGE.fullmatch(self.validator or "")
        low, high = match.group(1, 2) if match else (None, None)
        whole = self.type in _WHOLE

        def number(text: str | None) -> float | None:
            return None if text is None else int(text) if whole else float(text)

        return number(low), number(high)

    @cached_property
    def besides(self) -> int | None:
        """A number outside ``bounds`` that is allowed too."""
        match = _RANGE.fullmatch(self.validator or "")
        return int(match[3]) if match and match[3] else None

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The words allowed, or of a list the words of which it may consist; empty where any are."""
        match = _CHOICES.fullmatch(self.validator or "")
        return tuple(match[1].split(", ")) if match else ()

    @cached_property
    def expected(self) -> str:
        """What a value must be, in a few words: ``a whole number from 1 to 9, or -1``."""
        if self.type == "boolean":
            return "true or false"
        if self.type == "list":
            return f"a list of {', '.join(self.choices)}" if self.choices else "* or a list of partition:broker pairs"
        if len(self.choices) > _MANY:
            return f"one of {self.choices[0]}, …, {self.choices[-1]}"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.type == "string":
            return "text"
        match = _RANGE.fullmatch(self.validator or "")
        low, high, besides = match.groups() if match else (None, None, None)
        kind = "a number" if self.type == "double" else f"a whole number ({self.type})"
        reach = "" if low is None else f" from {low} to {high}" if high else f" of at least {low}"
        return kind + reach + (f", or {besides}" if besides else "")

    def problem(self, value: str, written: str | None = None) -> str | None:
        """Why Kafka would refuse ``value``, spelled as Kafka spells it (milliseconds, bytes); None where it takes it.

        The rules are those of ``ConfigDef.parseType`` and of the validator. ``written`` is how the user spelled it.
        """
        value = value.strip()
        if self._takes(value):
            return None
        seen = message_text.quoted(value)
        if _NUMBER.fullmatch(value):
            seen = value if written in (None, value) else f"{written} ({value})"
        return f"expected {self.expected}, seen {seen}{self._remark(value)}"

    def same(self, one: str, other: str) -> bool:
        """Whether two values mean the same to Kafka: lists in any order, numbers and booleans however spelled."""
        if self.type == "list":
            return _items(one) == _items(other)
        if self.type == "double":
            return float(one) == float(other)
        return one.strip().lower() == other.strip().lower() if self.type == "boolean" else one == other

    def _takes(self, value: str) -> bool:
        if self.type == "boolean":
            return value.lower() in ("true", "false")
        if self.type == "list":
            return self._takes_list(value)
        if self.type in _WHOLE:
            number = int(value) if re.fullmatch(r"[+-]?[0-9]{1,30}", value) else None
            limit = _WHOLE[self.type]
            return number is not None and -limit <= number < limit and self._within(number)
        if self.type == "double":
            return bool(_NUMBER.fullmatch(value)) and self._within(float(value))
        # MetadataVersionValidator also takes a release without its last part: 2.8 for 2.8-IV1.
        return not self.choices or any(value == each or each.startswith(f"{value}-IV") for each in self.choices)

    def _takes_list(self, value: str) -> bool:
        items = [item.strip() for item in value.split(",")] if value else []
        if self.validator == _THROTTLED:
            return value == "*" or all(re.fullmatch(r"([0-9]+:[0-9]+)?", item) for item in items)
        # Kafka 4.1 takes a word twice, later ones do not (KIP-1161); nobody means it.
        return len(set(items)) == len(items) and (not self.choices or set(items) <= set(self.choices))

    def _within(self, number: float) -> bool:
        low, high = self.bounds
        inside = (low is None or number >= low) and (high is None or number <= high)
        return inside or number == self.besides

    def _remark(self, value: str) -> str:
        if self.type == "boolean":
            return message_text.flag(value)
        if self.type in _WHOLE and re.fullmatch(r"[+-]?[0-9]+", value):
            limit = _WHOLE[self.type]
            return "" if -limit <= int(value) < limit else f"; the greatest {self.type} is {limit - 1}"
        if self.type in _WHOLE and (plain := message_text.plainly(value)):
            return plain
        items = [item.strip() for item in value.split(",")]
        if self.type == "list" and len(set(items)) < len(items):
            return "; a word stands twice"
        wrong = next((item for item in items if item not in self.choices), "")
        return message_text.guess(wrong, self.choices)


def _items(value: str) -> set[str]:
    return {item.strip() for item in value.split(",") if item.strip()}
