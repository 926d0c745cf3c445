"""Texts that try to leave the place where they are shown: a terminal, a page, a log of GitHub Actions."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, TypeVar

from pydantic import BaseModel

HOSTILE: Final = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http://evil.example\x07link\x1b]8;;\x07",
    "\x9b31m",
    "\x00\x07\x08\x7f",
    "\u202egnp.exe\u202c",
    "\u2066isolated\u2069",
    "\u200f\u200e\u061c",
    "\ufffe\uffff",
    "\n::error::planted",
    "\r\n::set-output name=planted::1",
    "\u2028::warning::planted",
    "##[error]planted",
    "::stop-commands::planted",
    "%0A::error::planted",
    "]]><!--",
    "@everyone #1 :smile:",
    "https://evil.example/x www.evil.example a@evil.example ftp://evil.example",
    "[link](javascript:alert(1)) ![i](http://evil.example/x.png)",
    "| a | `b` | **c** |\n# heading",
    "{{ 7*7 }}{% raw %}",
    '"\' onmouseover="alert(1)',
    "\\u001b[31m",
)
_FORBIDDEN: Final = frozenset(
    chr(code)
    for code in (
        *range(0x20),
        *range(0x7F, 0xA0),
        *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    )
) - {"\n", "\t"}
_OURS: Final = frozenset({"check", "topicwarden", "kind", "file"})
"""Fields whose text no user chooses, and paths, which the loader escapes."""

Model = TypeVar("Model", bound=BaseModel)


def forbidden(output: str) -> set[str]:
    """Return the characters in ``output`` that control a terminal or disguise text."""
    return set(output) & _FORBIDDEN


def commands(output: str) -> list[str]:
    """Return the lines of ``output`` that GitHub Actions would take for a command."""
    lines = output.replace("\r", "\n").split("\n")
    return [line for line in lines if line.lstrip().startswith("::") or "##[" in line]


def poisoned(model: Model, text: str) -> Model:
    """Return ``model`` with ``text`` at the end of each text that a user, a record or a cluster can choose."""
    return type(model).model_validate(_poisoned(model.model_dump(), text))


def _poisoned(value: Any, text: str, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _poisoned(each, text, str(key)) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_poisoned(each, text, name) for each in value]
    return value + text if isinstance(value, str) and not isinstance(value, Enum) and name not in _OURS else value
