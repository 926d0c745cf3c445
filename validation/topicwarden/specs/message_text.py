"""How messages speak of what was written: values shown, misspelt words guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches

_LOOKALIKE = re.compile("[‘’“”–—−]")
"""What word processors and chats write for quotation marks and the minus sign."""
_FLAGS = dict.fromkeys(("yes", "on", "y", "true"), "true") | dict.fromkeys(("no", "off", "n", "false"), "false")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The word of ``known`` that is most like ``word``; None where none is alike."""
    by_lower = {each.lower(): each for each in known}
    return next((by_lower[found] for found in get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)), None)


def guess(word: str, known: Iterable[str]) -> str:
    """``; did you mean X?``, or nothing: the end of a message about an unknown word."""
    found = nearest(word, known)
    return f"; did you mean {found}?" if found else ""


def plainly(text: str) -> str:
    """``; write 1000`` for ``1_000``, ``01000`` and ``"1000"``, else nothing: the end of a message about a number."""
    number = re.fullmatch(r"0*([0-9]+)", text.replace("_", "").replace(",", ""), re.ASCII)
    return f"; write {number[1]}" if number else ""


def wholly(number: float) -> str:
    """``; write 1000000`` for ``1e6``, which is a decimal number to YAML; nothing for one with a fraction."""
    return f"; write {int(number)}" if number.is_integer() and abs(number) < 1e18 else ""


def flag(text: str) -> str:
    """``; write true`` for ``yes``, ``on`` and ``"true"``, which are text to YAML 1.2, else nothing."""
    return f"; write {_FLAGS[text.lower()]}" if text.lower() in _FLAGS else ""


def quoted(text: str) -> str:
    """``text`` in quotation marks on one line, cut where it is long, escaped where it cannot be printed."""
    shown = json.dumps(text if len(text) <= 60 else text[:57] + "...", ensure_ascii=not text.isprintable())
    alike = _LOOKALIKE.search(text)
    return f"{shown} ({alike[0]} is U+{ord(alike[0]):04X})" if alike else shown


def seen(value: object) -> str:
    """What a value read from YAML is, for the end of ``expected …, seen …``."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {quoted(value)}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    return "a list" if isinstance(value, list) else "a mapping"
