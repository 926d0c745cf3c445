"""Wording that messages share: quoted values, kinds of values, and suggestions for misspelled words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Final

_LOOKALIKE = re.compile("[‘’“”–—−]")
"""Typographic quotation marks, dashes and minus signs, which word processors and chats insert."""
_BOOLEANS = dict.fromkeys(("yes", "on", "y", "true"), "true") | dict.fromkeys(("no", "off", "n", "false"), "false")

_MOST_DECIMALS: Final = 12
"""More decimals of a number are not significant."""

_MOST_COMPARISONS: Final = 200_000
"""The most words that one ``Suggestions`` compares, which takes one or two seconds."""
_LEAST_SIMILAR: Final = 0.6
"""The smallest ratio of ``SequenceMatcher`` at which a word is suggested."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 record`` or ``2,000 records``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counted_are(number: int, noun: str) -> str:
    """Return a number with its noun and verb, such as ``1 record is`` or ``2,000 records are``."""
    return f"{counted(number, noun)} {'is' if number == 1 else 'are'}"


def enumerated(parts: Sequence[str]) -> str:
    """Return one or more texts as ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def first_of(names: Sequence[str], most: int, noun: str = "", separator: str = ", ") -> str:
    """Return the first ``most`` names with commas, and the number of the others: ``a, b and 3 more groups``."""
    shown = separator.join(names[:most])
    return f"{shown} and {counted_more(len(names) - most, noun)}" if len(names) > most else shown


def first_lines(lines: Sequence[str], most: int, noun: str = "") -> list[str]:
    """Return the first ``most`` lines, and one with the number of the others: ``and 3 more groups``."""
    return [*lines[:most], *([f"and {counted_more(len(lines) - most, noun)}"] if len(lines) > most else [])]


def and_others(number: int) -> str:
    """Return `` (and 3 more)`` to follow the first of several things, or empty text if there are no others."""
    return f" (and {counted_more(number)})" if number > 0 else ""


def counted_more(number: int, noun: str = "") -> str:
    """Return the number of the others of a shortened list: ``3 more groups``, ``3 more`` without a noun."""
    return counted(number, f"more {noun}") if noun else f"{number:,} more"


def share(number: int, total: int, noun: str, verb: str = "") -> str:
    """Return a part of several things, such as ``2 of 3 partitions have`` and ``1 of 3 partitions has``.

    ``verb`` is the plural: ``have``, ``are`` or empty.
    """
    singular = {"have": "has", "are": "is"}
    return f"{number:,} of {counted(total, noun)} {singular.get(verb, verb) if number == 1 else verb}".rstrip()


def above(value: float, bound: float, digits: int = 1) -> str:
    """Return a value that is above a bound, with at least ``digits`` decimals, and as many as show that it is above."""
    texts = (f"{value:.{number}f}" for number in range(digits, _MOST_DECIMALS))
    return next((text for text in texts if float(text) > bound), repr(value))


def percent_above(share: float, bound: float) -> str:
    """Return a share that is above a bound as a percentage, as ``above``: ``5.03%`` for a bound of 0.05."""
    return f"{above(100 * share, float(f'{100 * bound:.10g}'))}%"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the word of ``known`` that is most similar to ``word``; None if no word is similar enough."""
    return Suggestions(known).nearest(word)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean X?`` to end a message about an unknown word, or empty text without a suggestion."""
    return Suggestions(known).did_you_mean(word)


class Suggestions:
    """Suggestions for many unknown words from the same known words.

    Each suggestion compares all known words. If both are many, only the first unknown words get a suggestion.
    """

    def __init__(self, known: Iterable[str], *, ignore_case: bool = True) -> None:
        self._fold = str.lower if ignore_case else str
        folded = {self._fold(name): name for name in known}
        self._folded = dict(sorted(folded.items(), reverse=True))
        self._left = max(1, _MOST_COMPARISONS // max(1, len(self._folded)))

    def nearest(self, word: str, other_than: str | None = None) -> str | None:
        """Return the known word that is most similar to ``word``; None if no word is similar enough.

        ``other_than`` is a known word that makes no sense here.
        """
        if self._left == 0:
            return None
        self._left -= 1
        matcher = SequenceMatcher[str](b=self._fold(word))
        best = _LEAST_SIMILAR, ""
        for name, known in self._folded.items():  # The last name wins a tie, so others are not compared in full.
            if known == other_than:
                continue
            matcher.set_seq1(name)
            if (matcher.real_quick_ratio(), name) > best and (matcher.quick_ratio(), name) > best:
                best = max(best, (matcher.ratio(), name))
        return self._folded[best[1]] if best[1] else None

    def did_you_mean(self, word: str, other_than: str | None = None) -> str:
        """Return ``; did you mean X?`` to end a message about an unknown word, or empty text without a suggestion."""
        suggestion = self.nearest(word, other_than)
        return f"; did you mean {suggestion}?" if suggestion else ""


_MOST_DIGITS: Final = 400
"""Python converts no text of more than 4,300 digits to a number."""


_THOUSANDS: Final = re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3}){1,9}", re.ASCII)


def whole_number(text: str) -> int | None:
    """Return the number of ASCII digits with an optional minus; None for other text, or more digits than Kafka has."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,30}", text, re.ASCII) else None


def plain_number_hint(text: str) -> str:
    """Return ``; write 1000`` for ``1_000`` and ``"1000"``, the remedy of ``octal_hint``, and else empty text.

    ``1,000`` is 1.0 in half of Europe: its remedy has a condition, and `check --fix` does not apply it.
    """
    if hint := octal_hint(text):
        return hint
    if _THOUSANDS.fullmatch(text):
        return f"; if commas separate thousands, write {text.replace(',', '')}"
    number = re.fullmatch(r"0*([0-9]{1,30})", text.replace("_", ""), re.ASCII)
    return f"; write {number[1]}" if number else ""


def octal_hint(text: str) -> str:
    """Return the two readings of a number that is octal in YAML 1.1 only, such as ``010``; else empty text."""
    digits = text.strip().replace("_", "")
    if not re.fullmatch(r"[-+]?0[0-7]+", digits, re.ASCII) or len(digits.lstrip("-+0")) < 2:
        return ""
    return f"; {yaml_readings(digits)}: write the intended number"


def yaml_readings(digits: str) -> str:
    """Return how YAML 1.1 and YAML 1.2 read a number with a leading zero, such as ``010``."""
    if len(digits) > _MOST_DIGITS:
        return "YAML 1.1 and YAML 1.2 read different numbers"
    octal_number = int(digits, 8) if set(digits) <= set("-+01234567") else "text"
    return f"YAML 1.1 reads {octal_number}, YAML 1.2 reads {int(digits)}"


def whole_number_hint(number: float) -> str:
    """Return ``; write 1000000`` for ``1e6``, which YAML reads as a float; empty text for a number with a fraction."""
    return f"; write {int(number)}" if number.is_integer() and abs(number) < 1e18 else ""


def boolean_hint(text: str) -> str:
    """Return ``; write true`` for ``yes``, ``on`` and ``"true"``, which YAML 1.2 reads as text, else empty text."""
    return f"; write {_BOOLEANS[text.lower()]}" if text.lower() in _BOOLEANS else ""


def quoted(text: str) -> str:
    """Return ``text`` in quotation marks on one line: at most 60 characters, unprintable characters escaped.

    The first typographic quotation mark or dash is named by its code point, because it looks like the ASCII character.
    """
    shown = json.dumps(text if len(text) <= 60 else text[:57] + "...", ensure_ascii=not text.isprintable())
    lookalike = _LOOKALIKE.search(text)
    return f"{shown} ({lookalike[0]} is U+{ord(lookalike[0]):04X})" if lookalike else shown


def describe_value(value: object) -> str:
    """Return the kind and text of a value from YAML, to end ``expected …, got …``."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "a mapping"


def kind_of(value: object) -> str:
    """Return the kind of a value from YAML, to end ``expected …, got …`` where its text may be secret."""
    return "text" if isinstance(value, str) else describe_value(value)
