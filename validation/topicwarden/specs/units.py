"""Durations and sizes as people write them, to the plain numbers that Kafka takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from topicwarden.specs.message_text import plainly, quoted


@dataclass(frozen=True)
class ValueUnit:
    """A kind of quantity: its suffixes with what each is worth in Kafka's own unit."""

    noun: str
    plain: str
    suffixes: dict[str, int]
    example: str

    @property
    def pattern(self) -> str:
        """A regular expression (ECMA and Python) of what ``parse`` takes."""
        return rf"^(-1|[0-9]+(\.[0-9]+)? *({'|'.join(self.suffixes)})|0|[1-9][0-9]*)$"

    def parse(self, text: str) -> int:
        """The number of milliseconds or bytes that ``text`` says; ValueError with a message where it says none.

        A fraction is taken where the result is whole (``1.5h``). Whether Kafka takes the number is for the
        setting's definition to say.
        """
        text = text.strip()
        if _NUMBER.fullmatch(text):
            return int(text)
        match = _QUANTITY.fullmatch(text)
        if not match or match[2] not in self.suffixes:
            raise ValueError(f"{self._expected(text)}{self._remedy(text, match[2] if match else None)}")
        number = Decimal(match[1]) * self.suffixes[match[2]]
        if number != int(number):
            raise ValueError(f"{self._expected(text)}; this is {number:f} {self.plain}, which is not whole")
        return int(number)

    def spelled(self, number: int) -> str:
        """``number`` as people write it, exactly: ``7d``, ``250ms``, ``1MiB``; as it is where it says nothing more."""
        if number <= 0:
            return str(number)
        worth, suffix = max((worth, suffix) for suffix, worth in self.suffixes.items() if number % worth == 0)
        return str(number) if suffix == "B" else f"{number // worth}{suffix}"

    def _bare(self, suffix: str) -> str:
        """Of a size ``m`` for M, MB, Mi and MiB."""
        lower = suffix.lower()
        return lower.rstrip("b").rstrip("i") or lower if "B" in self.suffixes else lower

    def _expected(self, text: str) -> str:
        return f"expected a {self.noun} such as {self.example}, seen {quoted(text)}"

    def _remedy(self, text: str, suffix: str | None) -> str:
        if text.lower() in _ENDLESS:
            return "; write -1"
        if suffix is None:
            return plainly(text)
        if suffix == "M" and "m" in self.suffixes:
            return "; m is a minute, and a month is 30d"
        alike = [each for each in self.suffixes if self._bare(each) == self._bare(suffix)]
        meant = " or ".join(f"{each} ({self.suffixes[each]})" for each in alike)
        return f"; did you mean {meant}?" if alike else f"; units are {', '.join(self.suffixes)}"


# A leading zero is octal to some readers of YAML and decimal to others, so it is no number here.
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,29})", re.ASCII)
_QUANTITY: Final = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) *([A-Za-z]+)", re.ASCII)

_ENDLESS: Final = ("forever", "unlimited", "infinite", "none", "never")

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
    """The unit that a topic configuration is counted in, which Kafka puts at the end of its name."""
    if setting.endswith(".ms"):
        return DURATION
    return SIZE if setting.endswith(".bytes") else None
