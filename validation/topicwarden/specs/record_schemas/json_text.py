"""JSON of schema files, within the limits of the audit's reader (``codecs/JsonText.java``)."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

MOST_DEPTH: Final = 200
"""Nested arrays and objects of a schema; the reader compiles schemas by recursion."""

_MOST_DIGITS: Final = 1_000
_MOST_EXPONENT: Final = 1_000


class JsonError(ValueError):
    """Why a text is not JSON that can be used."""


def parse(text: str) -> Any:
    """Return the value of ``text``. Raises JsonError, with a message that follows the name of the file."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_int=_integer, parse_float=_real)
    except RecursionError:
        raise JsonError(_too_deep()) from None
    except JsonError:
        raise
    except ValueError as error:
        raise JsonError(f"is not JSON: {error}") from error
    if _deeper(value):
        raise JsonError(_too_deep())
    return value


def _too_deep() -> str:
    return f"is nested too deeply: expected at most {MOST_DEPTH} arrays and objects within one another"


def _refuse(constant: str) -> NoReturn:
    raise JsonError(f"is not JSON: {constant} is no JSON number")


def _integer(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise JsonError(f"has a number of {len(text)} characters; expected at most {_MOST_DIGITS}")
    return int(text)


def _real(text: str) -> float:
    exponent = re.search("[eE]([+-]?[0-9]+)$", text)
    if len(text) > _MOST_DIGITS or (exponent and abs(int(exponent[1][:_MOST_DIGITS])) > _MOST_EXPONENT):
        raise JsonError(f"has a number that is too long, or has an exponent beyond {_MOST_EXPONENT}")
    return float(text)


def _deeper(value: Any) -> bool:
    level, depth = [value], 0
    while level:
        level = [
            below
            for one in level
            if isinstance(one, (dict, list))
            for below in (one.values() if isinstance(one, dict) else one)
        ]
        depth += 1
        if depth > MOST_DEPTH and level:
            return True
    return False
