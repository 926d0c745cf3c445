"""Format numbers, times and untrusted text for people: IEC bytes, thousands separators, UTC."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from topicwarden.model.timestamps import utc
from topicwarden.model.units import duration_text, size_text

NOTHING = "–"
duration = duration_text
_Number = TypeVar("_Number", int, float)

_YEAR_MS = 31_556_952_000
# A time in 1973 in milliseconds. Larger numbers are timestamps, smaller numbers are durations.
_FIRST_PLAUSIBLE_TIME = 100_000_000_000
# Records and names can contain control characters, which control a terminal, marks and overrides for bidirectional
# text, which disguise text, surrogates (from file names that are not UTF-8), and characters that XML does not allow.
_ESCAPES = {
    code: f"\\u{code:04x}"
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFFFE, 0xFFFF),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    )
    if chr(code) not in "\n\t"
}

_CODE: Final = re.compile(r"(?<![^\s(])`([^`]+)`(?=[\s.,;:)]|$)")
"""Code in a message. A backtick elsewhere is part of a name."""


def printable(text: str) -> str:
    """Return ``text`` with control characters and bidirectional overrides escaped; line breaks and tabs remain."""
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


def one_line(text: str) -> str:
    """Return ``printable`` text on one line: every run of white space becomes one space."""
    return " ".join(printable(text).split())


def first_sentence(text: str) -> str:
    """Return the first sentence of a text on one line."""
    sentence, dot, _ = " ".join(text.partition("\n\n")[0].split()).partition(". ")
    return sentence + dot.strip()


def squeezed(text: str) -> str:
    """Return ``printable`` text on one line, as ``one_line``, but with a space at an end that has white space."""
    return re.sub(r"\s+", " ", printable(text))


def shorten(text: str, columns: int) -> str:
    """Return at most ``columns`` characters of ``text``, cut in the middle: topic names differ at both ends."""
    if len(text) <= columns:
        return text
    tail = (columns - 1) // 2
    head = columns - 1 - tail
    # A combining mark would be drawn on the ellipsis.
    while tail > 1 and unicodedata.combining(text[-tail]):
        tail -= 1
    return f"{text[:head]}…{text[-tail:]}"


def count(number: int | None) -> str:
    """Return ``12,345``; a dash for None."""
    return NOTHING if number is None else f"{number:,}"


def short_count(number: int) -> str:
    """Return a count in at most five characters: ``999``, ``12.3k``, ``4M``."""
    for unit, scale in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if abs(number) >= scale:
            value = number / scale
            # Truncated, not rounded: 999,999 is less than a million.
            return f"{int(value)}{unit}" if abs(value) >= 100 else f"{int(value * 10) / 10:g}{unit}"
    return str(number)


def size(number: float | None) -> str:
    """Return bytes in IEC units: ``512 B``, ``1.5 GiB``; a dash for None."""
    return NOTHING if number is None else size_text(number)


def at_least(unknown: int) -> str:
    """Return the start of a sum: ``at least `` if some of its parts are unknown."""
    return "at least " if unknown else ""


def total(numbers: Iterable[_Number | None], text: Callable[[_Number], str]) -> str:
    """Return the sum of ``numbers`` as ``text`` writes it: ``at least 1.5 GiB`` if some are None; a dash if all are."""
    every = list(numbers)
    known = [number for number in every if number is not None]
    return at_least(len(every) - len(known)) + text(sum(known)) if known else NOTHING


def timestamp(milliseconds: int | None) -> str:
    """Return a time in ISO 8601 and UTC, to the second; a dash for None.

    A time outside of Python's calendar is shown as milliseconds with the approximate year.
    """
    if milliseconds is None:
        return NOTHING
    if milliseconds == -1:
        return "-1 (no timestamp)"
    shown = utc(milliseconds)
    return shown if shown.endswith("Z") else f"{milliseconds} (year {1970 + milliseconds // _YEAR_MS})"


def span(first: int | None, last: int | None, *, days: bool = False) -> str:
    """Return a time span, to the minute: ``2025-10-08 08:53 – 09:10``.

    With ``days``, a span of several days is shown to the day.
    """
    if first is None or last is None:
        return NOTHING
    (start, at), (end, until) = _minute(first), _minute(last)
    if start == end:
        return f"{start} {at}".rstrip() + (f" – {until}" if until != at else "")
    if days:
        return f"{start} – {end}"
    return f"{start} {at}".rstrip() + " – " + f"{end} {until}".rstrip()


def multiple(ratio: float | None) -> str:
    """Return a multiple: ``1.00×``; a dash for None."""
    return NOTHING if ratio is None else f"{ratio:,.2f}×"


def age(from_ms: int | None, to_ms: int | None) -> str:
    """Return an age band in words: ``in the future``, ``under 1 h``, ``1 h – 1 d``, ``over 30 d``.

    The band is from ``from_ms`` to ``to_ms`` milliseconds; None is unbounded, negative ages are in the future.
    """
    if to_ms is not None and to_ms <= 0:
        if from_ms is None:
            return "in the future" if to_ms == 0 else f"over {duration(-to_ms)} ahead"
        return f"{duration(-to_ms)} – {duration(-from_ms)} ahead" if to_ms else f"up to {duration(-from_ms)} ahead"
    if to_ms is None:
        return "any age" if from_ms is None else f"over {duration(from_ms)}"
    return f"under {duration(to_ms)}" if not from_ms else f"{duration(from_ms)} – {duration(to_ms)}"


def ranges(values: Iterable[int]) -> str:
    """Return partition numbers, with three and more consecutive numbers as a range: ``0, 3, 5-11``."""
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    shown = (f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
    return ", ".join(shown)


def code_spans(sentence: str) -> list[tuple[str, bool]]:
    """Return the parts of a sentence on one line, each with whether it is code: in backticks, with none inside."""
    parts = _CODE.split(one_line(sentence))
    return [(part, number % 2 == 1) for number, part in enumerate(parts) if part]


def evidence(name: str, value: int | float | str | None) -> str:
    """Return the exact value, with a readable form if the name contains a unit: ``604800000 (7 d)``."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    readable = _readable(re.split(r"[^a-z]+", name.lower()), value)
    return f"{value} ({readable})" if readable else str(value)


def _minute(milliseconds: int) -> tuple[str, str]:
    """Return the day and the time of day. The time of day is empty for a time outside of the calendar."""
    if milliseconds == -1:
        return "no timestamp", ""
    shown = timestamp(milliseconds)
    day, separator, clock = shown.partition("T")
    return (day, clock[:5]) if separator else (shown[shown.index("(") + 1 : -1], "")


def _readable(words: list[str], value: int) -> str:
    if "bytes" in words and abs(value) >= 1024:
        return size(value)
    if ("ms" in words or "timestamp" in words or "time" in words) and abs(value) >= _FIRST_PLAUSIBLE_TIME:
        shown = timestamp(value)
        return "" if shown.startswith(str(value)) else shown
    if "ms" in words and abs(value) >= 1_000:
        return duration(value)
    return ""
