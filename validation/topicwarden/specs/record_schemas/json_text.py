"""Parse the JSON of schema files, within the limits of the audit's reader (``JsonText.java``)."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from topicwarden.model.message_text import quoted

MAX_DEPTH: Final = 200
"""The maximum nesting of arrays and objects in a schema, because the reader compiles schemas recursively."""

_MAX_DIGITS: Final = 1_000
_MAX_EXPONENT: Final = 1_000


class JsonError(ValueError):
    """An error of JSON text. The message continues a sentence that begins with the file's name."""


def parse(text: str, *, unique_keys: bool = False) -> Any:
    """Return the value of the JSON ``text``. Raise JsonError if it is invalid or exceeds a limit.

    ``unique_keys``: a key that an object has twice is an error; else the last one counts.
    """
    try:
        value = json.loads(
            text,
            parse_constant=_reject_constant,
            parse_int=_parse_integer,
            parse_float=_parse_float,
            object_pairs_hook=_unique if unique_keys else None,
        )
    except RecursionError:
        raise JsonError(_too_deep()) from None
    except JsonError:
        raise
    except ValueError as error:
        raise JsonError(f"is not JSON: {error}") from error
    if _is_too_deep(value):
        raise JsonError(_too_deep())
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise JsonError(f"has the key {quoted(key)} twice in one object, and only the last one counts; delete one")
        found[key] = value
    return found


def _too_deep() -> str:
    return f"is nested too deeply: expected at most {MAX_DEPTH} nested arrays and objects"


def _reject_constant(constant: str) -> NoReturn:
    raise JsonError(f"is not JSON: {constant} is not a JSON number")


def _parse_integer(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise JsonError(f"has a number of {len(text)} characters; expected at most {_MAX_DIGITS}")
    return int(text)


def _parse_float(text: str) -> float:
    exponent = re.search("[eE]([+-]?[0-9]+)$", text)
    if len(text) > _MAX_DIGITS or (exponent and abs(int(exponent[1][:_MAX_DIGITS])) > _MAX_EXPONENT):
        raise JsonError(f"has a number that is too long or has an exponent beyond {_MAX_EXPONENT}")
    return float(text)


def _is_too_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level:
        level = [
            child
            for container in level
            if isinstance(container, (dict, list))
            for child in (container.values() if isinstance(container, dict) else container)
        ]
        depth += 1
        if depth > MAX_DEPTH and level:
            return True
    return False
