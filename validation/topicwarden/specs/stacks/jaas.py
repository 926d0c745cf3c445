"""JAAS entries as Kafka's clients read them: ``LoginModule required key="value" …;``.

Source: ``org.apache.kafka.common.security.JaasConfig``, which reads with ``java.io.StreamTokenizer``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    r"""\s*(?:"(?P<double>(?:[^"\\\r\n]|\\.)*)"|'(?P<single>(?:[^'\\\r\n]|\\.)*)'|(?P<word>[^\s=;"']+)|(?P<mark>[=;]))"""
)
_ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)")
_CONTROL: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS: Final = ("required", "requisite", "sufficient", "optional")


@dataclass(frozen=True)
class JaasEntry:
    """One login module and its options; ``repr`` shows no option."""

    module: str
    options: dict[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the class without its package."""
        return self.module.rpartition(".")[2]


def read_jaas(text: str) -> JaasEntry:
    """Return the only entry in ``text``. Raises ValueError, with a message without any part of the text."""
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] != (";", True):
        raise ValueError("expected one login module, its flag and options, and ; at the end")
    (module, _), (flag, _), *rest = tokens[:-1]
    if flag.lower() not in _FLAGS:
        raise ValueError(f"expected a flag such as required after {module}")
    options: dict[str, str] = {}
    while rest:
        if (";", True) in rest[:3]:
            raise ValueError("expected one login module, got more")
        if len(rest) < 3 or rest[1] != ("=", True) or rest[0][1] or rest[2][1]:
            raise ValueError('expected options such as username="alice" after the flag')
        options[rest[0][0]] = rest[2][0]
        rest = rest[3:]
    return JaasEntry(module, options)


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Return the words of ``text`` without quotes, each with whether it is one of the marks ``=`` and ``;``."""
    tokens, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError("a quoted value has no end, or goes on in another line")
        position = match.end()
        quoted = match["double"] if match["double"] is not None else match["single"]
        word = _ESCAPE.sub(_unescaped, quoted) if quoted is not None else match["word"] or match["mark"]
        tokens.append((word, match["mark"] is not None))
    return tokens


def _unescaped(match: re.Match[str]) -> str:
    written = match[1]
    return chr(int(written, 8)) if written.isdigit() and written < "8" else _CONTROL.get(written, written)
