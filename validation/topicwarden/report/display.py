"""Numbers, times and foreign text as people read them: IEC bytes, thousands separators, UTC."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from topicwarden.model.timestamps import utc

NOTHING = "–"

_YEAR_MS = 31_556_952_000
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_CLOCK = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000))
# 1973 in milliseconds: no retention or lag is that long, and no record of today is that old.
_FIRST_PLAUSIBLE_TIME = 100_000_000_000
# Controls can drive a terminal, and bidirectional overrides can make text read as another; both may come from records.
_UNSEEN = {
    code: f"\\u{code:04x}"
    for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029)
    if chr(code) not in "\n\t"
}


def printable(text: str) -> str:
    """``text`` with control characters and bidirectional overrides spelled out; line breaks stay."""
    return text if text.isascii() and text.isprintable() else text.translate(_UNSEEN)


def one_line(text: str) -> str:
    """``printable`` text, every run of white space a single blank."""
    return " ".join(printable(text).split())


def shorten(text: str, columns: int) -> str:
    """At most ``columns`` characters, cut in the middle: names of topics differ at both ends."""
    if len(text) <= columns:
        return text
    tail = (columns - 1) // 2
    head = columns - 1 - tail
    # A combining mark must not slip onto the ellipsis.
    while tail > 1 and unicodedata.combining(text[-tail]):
        tail -= 1
    return f"{text[:head]}…{text[-tail:]}"


def count(number: int | None) -> str:
    return NOTHING if number is None else f"{number:,}"


def brief(number: int) -> str:
    """A count in at most five characters: ``999``, ``12.3k``, ``4M``."""
    for unit, scale in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if abs(number) >= scale:
            value = number / scale
            # Truncated, not rounded: 999,999 is not yet a million.
            return f"{int(value)}{unit}" if abs(value) >= 100 else f"{int(value * 10) / 10:g}{unit}"
    return str(number)


def size(number: float | None) -> str:
    """Bytes in IEC units: ``512 B``, ``1.5 GiB``."""
    if number is None:
        return NOTHING
    value, power = float(number), 0
    while abs(value) >= 1023.95 and power < len(_BINARY) - 1:
        value, power = value / 1024, power + 1
    return f"{value:.0f} B" if power == 0 else f"{value:.1f} {_BINARY[power]}"


def duration(milliseconds: float) -> str:
    """The two largest units that matter: ``250 ms``, ``4.2 s``, ``3 min 5 s``, ``7 d``."""
    sign, left = ("-" if milliseconds < 0 else ""), abs(milliseconds)
    if left < 1_000:
        return f"{sign}{left:.0f} ms"
    if left < 60_000:
        return f"{sign}{left / 1_000:.1f}".removesuffix(".0") + " s"
    parts: list[str] = []
    whole = int(left)
    for unit, scale in _CLOCK:
        amount, whole = divmod(whole, scale)
        if amount or parts:
            parts.append(f"{amount:,} {unit}" if amount else "")
        if len(parts) == 2:
            break
    return sign + " ".join(part for part in parts if part)


def moment(milliseconds: int | None) -> str:
    """ISO 8601 in UTC, to the second; a time that no calendar here holds is shown as the number that it is."""
    if milliseconds is None:
        return NOTHING
    if milliseconds == -1:
        return "-1 (no timestamp)"
    shown = utc(milliseconds)
    return shown if shown.endswith("Z") else f"{milliseconds} (year {1970 + milliseconds // _YEAR_MS})"


def span(first: int | None, last: int | None, *, days: bool = False) -> str:
    """From the first to the last moment, to the minute; with ``days``, to the day where they are several."""
    if first is None or last is None:
        return NOTHING
    (start, at), (end, until) = _minute(first), _minute(last)
    if start == end:
        return f"{start} {at}".rstrip() + (f" – {until}" if until != at else "")
    if days:
        return f"{start} – {end}"
    return f"{start} {at}".rstrip() + " – " + f"{end} {until}".rstrip()


def times(ratio: float | None) -> str:
    """A multiple of the mean: ``1.00×``."""
    return NOTHING if ratio is None else f"{ratio:,.2f}×"


def age(from_ms: int | None, to_ms: int | None) -> str:
    """An age band: ``in the future``, ``under 1 h``, ``1 h – 1 d``, ``over 30 d``."""
    if to_ms is not None and to_ms <= 0:
        if from_ms is None:
            return "in the future" if to_ms == 0 else f"over {duration(-to_ms)} ahead"
        return f"{duration(-to_ms)} – {duration(-from_ms)} ahead" if to_ms else f"up to {duration(-from_ms)} ahead"
    if to_ms is None:
        return "any age" if from_ms is None else f"over {duration(from_ms)}"
    return f"under {duration(to_ms)}" if not from_ms else f"{duration(from_ms)} – {duration(to_ms)}"


def numbers(values: Iterable[int]) -> str:
    """Partition numbers, runs of three and more drawn together: ``0, 3, 5-11``."""
    runs: list[list[int]] = []
    for value in sorted(set(values)):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    shown = (f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)
    return ", ".join(shown)


def evidence(name: str, value: int | float | str | None) -> str:
    """The exact value, and what it means where its name tells: ``604800000 (7 d)``."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    meaning = _meaning(re.split(r"[^a-z]+", name.lower()), value)
    return f"{value} ({meaning})" if meaning else str(value)


def _minute(milliseconds: int) -> tuple[str, str]:
    """The day, and the time of day; a time outside the calendar has only the first."""
    if milliseconds == -1:
        return "no timestamp", ""
    shown = moment(milliseconds)
    day, found, clock = shown.partition("T")
    return (day, clock[:5]) if found else (shown[shown.index("(") + 1 : -1], "")


def _meaning(words: list[str], value: int) -> str:
    if "bytes" in words and abs(value) >= 1024:
        return size(value)
    if ("ms" in words or "timestamp" in words or "time" in words) and abs(value) >= _FIRST_PLAUSIBLE_TIME:
        shown = moment(value)
        return "" if shown.startswith(str(value)) else shown
    if "ms" in words and abs(value) >= 1_000:
        return duration(value)
    return ""
