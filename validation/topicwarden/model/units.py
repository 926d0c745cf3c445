"""Durations and sizes with units, converted to the plain numbers that Kafka accepts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from topicwarden.model.message_text import plain_number_hint, quoted

_SHORT: Final = 6
"""The most characters of a number with a unit that is easy to read: ``9999ms``, but not ``604800001ms``."""
LONG_MAX: Final = 2**63 - 1
"""The greatest value of Kafka's type long. For a duration, it means that there is no limit."""


@dataclass(frozen=True)
class ValueUnit:
    """A kind of quantity: its unit suffixes, each with its factor to Kafka's unit (milliseconds or bytes)."""

    noun: str
    plain: str
    suffixes: dict[str, int]
    example: str

    @property
    def pattern(self) -> str:
        """The regular expression (valid in ECMA-262 and Python) for the text that ``parse`` accepts."""
        return rf"^(-1|(0|[1-9][0-9]*)(\.[0-9]+)? *({'|'.join(self.suffixes)})|0|[1-9][0-9]*)$"

    def parse(self, text: str) -> int:
        """Return the number of milliseconds or bytes of ``text``.

        A fraction is valid if the result is a whole number (``1.5h``). The bounds of the setting are not checked: see
        ``ConfigDefinition.problem``. Raise ValueError, with a message for the user, for any other text.
        """
        text = text.strip()
        if _NUMBER.fullmatch(text):
            return int(text)
        match = _QUANTITY.fullmatch(text)
        if match and match[2] in self.suffixes and (plain := without_leading_zeros(text)):
            raise ValueError(f"{self._expected(text)}; write {plain}")
        if not match or match[2] not in self.suffixes:
            raise ValueError(f"{self._expected(text)}{self._remedy(text, match[2] if match else None)}")
        number = Decimal(match[1]) * self.suffixes[match[2]]
        if number != int(number):
            raise ValueError(f"{self._expected(text)}; this is {number:f} {self.plain}, not a whole number")
        return int(number)

    def format(self, number: int) -> str:
        """Return ``number`` with its largest exact unit: ``7d``, ``250ms``, ``1MiB``; unchanged if it has none."""
        if number <= 0:
            return str(number)
        factor, suffix = max((factor, suffix) for suffix, factor in self.suffixes.items() if number % factor == 0)
        return str(number) if suffix == "B" else f"{number // factor}{suffix}"

    def text(self, number: int) -> str:
        """Return ``number`` for a message: ``7d`` and ``1MiB`` if that is exact and short, else rounded."""
        short = self.format(number)
        if short != str(number) and len(short) <= _SHORT:
            return short
        return duration_text(number) if "ms" in self.suffixes else size_text(number)

    def _base_unit(self, suffix: str) -> str:
        """Return the suffix in lower case, for sizes only its prefix: ``m`` for M, MB, Mi and MiB."""
        lower = suffix.lower()
        return lower.rstrip("b").rstrip("i") or lower if "B" in self.suffixes else lower

    def _expected(self, text: str) -> str:
        return f"expected a {self.noun} such as {self.example}, got {quoted(text)}"

    def _remedy(self, text: str, suffix: str | None) -> str:
        if suffix is None:
            return plain_number_hint(text)
        if suffix == "M" and "m" in self.suffixes:
            return "; m means minutes, and a month is 30d"
        similar = [each for each in self.suffixes if self._base_unit(each) == self._base_unit(suffix)]
        candidates = " or ".join(f"{each} ({self.suffixes[each]})" for each in similar)
        return f"; did you mean {candidates}?" if similar else f"; units are {', '.join(self.suffixes)}"


# A number with a leading zero is octal in YAML 1.1 and decimal in YAML 1.2, so it is rejected.
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,29})", re.ASCII)
_QUANTITY: Final = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) *([A-Za-z]+)", re.ASCII)

_PADDED: Final = re.compile(r"(-?)\+?0+([0-9].*)", re.ASCII)

_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_CLOCK: Final = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))


def without_leading_zeros(text: str) -> str | None:
    """Return a number or quantity such as ``012`` and ``007d`` without its leading zeros; None if it has none."""
    match = _PADDED.fullmatch(text.strip())
    return match[1] + match[2] if match else None


UNLIMITED: Final = ("forever", "unlimited", "infinite", "none", "never")

DURATION: Final = ValueUnit(
    noun="duration",
    plain="milliseconds",
    suffixes={"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000},
    example="7d, 36h, 250ms or 604800000",
)
SIZE: Final = ValueUnit(
    noun="size",
    plain="bytes",
    suffixes={"B": 1}
    | {f"{prefix}B": 1000**power for power, prefix in enumerate("kMGT", start=1)}
    | {f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", start=1)},
    example="1MiB, 500kB or 1048576",
)


def unit_of(setting: str) -> ValueUnit | None:
    """Return the unit of a configuration or quota, which its name ends with: ``.ms``, ``.bytes``, ``_byte_rate``."""
    if setting.endswith(".ms"):
        return DURATION
    return SIZE if setting.endswith((".bytes", "_byte_rate")) else None


def yaml_number(setting: str, number: int) -> int | str:
    """Return ``number`` as YAML has it: with its largest exact unit if that is short, such as ``10MiB`` and ``50s``."""
    unit = unit_of(setting)
    text = unit.format(number) if unit else str(number)
    return text if text != str(number) and len(text) <= _SHORT else number


def setting_text(setting: str, value: str | float) -> str:
    """Return the value of a configuration or quota for a message, in the notation of the YAML if it has a unit."""
    number = float(value) if not isinstance(value, str) else float(value) if value.isdecimal() else None
    if number is not None and number.is_integer() and isinstance(text := yaml_number(setting, int(number)), str):
        return text
    return value if isinstance(value, str) else f"{value:,.10g}"


def size_text(number: float) -> str:
    """Return bytes in IEC units for people: ``512 B``, ``1.5 GiB``."""
    value, power = float(number), 0
    while abs(value) >= 1023.95 and power < len(_BINARY) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.0f} B" if power == 0 else f"{value:.1f} {_BINARY[power]}"


def duration_text(milliseconds: float) -> str:
    """Return a duration in its two largest units: ``250 ms``, ``4.2 s``, ``3 min 5 s``, ``7 d``."""
    sign, absolute = ("-" if milliseconds < 0 else ""), abs(milliseconds)
    if absolute < 1_000:
        return f"{sign}{absolute:.0f} ms"
    if absolute < 60_000:
        return f"{sign}{absolute / 1_000:.1f}".removesuffix(".0") + " s"
    parts: list[str] = []
    rest = int(absolute)
    for unit, scale in _CLOCK:
        amount, rest = divmod(rest, scale)
        if amount or parts:
            parts.append(f"{amount:,} {unit}" if amount else "")
        if len(parts) == 2:
            break
    return sign + " ".join(part for part in parts if part)
