"""Check the regular expressions of JSON Schemas: those of ECMA-262 in Unicode mode.

The reader's counterpart is ``EcmaPattern.java``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import regress

_TOKEN: Final = re.compile(
    r"\\u\{[^}]*\}|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\c.|\\[pP]\{[^}]*\}|\\k<[^>]*>|\\[1-9][0-9]*|\\.|"
    r"\{[0-9]+(?:,[0-9]*)?\}|\(\?(?:<[A-Za-z_][A-Za-z0-9_]*>|<[=!]|.)?|.",
    re.DOTALL,
)
_MAX_REPETITIONS: Final = 1_000_000
_MAX_LENGTH: Final = 10_000
_MAX_DEPTH: Final = 50
_CATEGORIES: Final = frozenset(
    re.findall(
        r"\w+",
        """
        Letter Lowercase_Letter Uppercase_Letter Titlecase_Letter Modifier_Letter Other_Letter Mark Nonspacing_Mark
        Spacing_Mark Enclosing_Mark Number Decimal_Number digit Letter_Number Other_Number Punctuation punct
        Connector_Punctuation Dash_Punctuation Open_Punctuation Close_Punctuation Initial_Punctuation
        Final_Punctuation Other_Punctuation Symbol Math_Symbol Currency_Symbol Modifier_Symbol Other_Symbol
        Separator Space_Separator Line_Separator Paragraph_Separator Other Control Format Surrogate Private_Use
        L Ll Lu Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co
        """,
    )
)
_SCRIPTS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew
        Hiragana Kannada Katakana Khmer Lao Latin Malayalam Mongolian Myanmar Oriya Sinhala Tamil Telugu Thai Tibetan
        """,
    )
)
_BINARY_PROPERTIES: Final = frozenset(("ASCII", "Any", "Alphabetic", "Lowercase", "Uppercase", "White_Space"))


def pattern_error(pattern: str) -> str | None:
    """Return the error of a regular expression, or None."""
    if len(pattern) > _MAX_LENGTH:
        return f"longer than {_MAX_LENGTH:,} characters"
    names: list[str] = []
    groups = _Groups()
    depth = 0
    for token, in_class in _tokens(pattern):
        depth += 0 if in_class else (token[0] == "(") - (token == ")")
        error = _property_error(token)
        if not in_class:
            error = error or _syntax_error(token, names, depth) or groups.add(token)
        if error:
            return error
    try:
        regress.Regex(strict_pattern(pattern), flags="u")
    except regress.RegressError as error:
        return str(error).lower()
    except UnicodeEncodeError:
        return "it contains an unpaired surrogate"
    return None


class _Groups:
    """The groups that have matched, whatever the text is, where a token begins.

    In ECMA-262, a reference to any other group matches the empty text; in Java, for the reader, it matches nothing.
    """

    def __init__(self) -> None:
        self._count = 0
        self._numbers: dict[str, int] = {}
        self._matched: set[int] = set()
        self._open = [_Group()]
        self._last: set[int] = set()

    def add(self, token: str) -> str | None:
        """Read a token outside of character classes; return its error, or None."""
        last, self._last = self._last, set()
        if token == ")" and len(self._open) > 1:
            self._last = self._end()
        elif token == "|":
            self._open[-1].has_alternatives = True
            self._matched -= self._open[-1].inside
        elif token[0] == "(":
            self._begin(token)
        elif token in ("*", "?") or re.match("[{]0+[,}]", token):
            self._matched -= last
        elif (token[0] == "\\" and token[1:].isdecimal() and int(token[1:]) not in self._matched) or (
            token.startswith(r"\k<") and self._numbers.get(token[3:-1]) not in self._matched
        ):
            return "a reference to a group that may not have matched is not supported"
        return None

    def _begin(self, token: str) -> None:
        captures = token == "(" or token.endswith(">")
        self._count += captures
        if token.endswith(">"):
            self._numbers[token[3:-1]] = self._count
        self._open.append(_Group(self._count if captures else None, is_negated=token == "(?!"))

    def _end(self) -> set[int]:
        group = self._open.pop()
        if group.has_alternatives or group.is_negated:
            self._matched -= group.inside
        if group.number is not None:
            group.inside.add(group.number)
            self._matched.add(group.number)
        self._open[-1].inside |= group.inside
        return group.inside


@dataclass
class _Group:
    """A pair of brackets, or the text outside of all, with the numbers of the groups inside of it so far."""

    number: int | None = None
    is_negated: bool = False
    has_alternatives: bool = False
    inside: set[int] = field(default_factory=set)


def strict_pattern(pattern: str) -> str:
    """Return ``pattern`` with punctuation escapes and literal brackets as hexadecimal escapes.

    Unicode mode rejects them: only Annex B of ECMA-262 allows escaped punctuation and literal brackets.
    """
    return "".join(_strict_token(token, in_class) for token, in_class in _tokens(pattern))


def _strict_token(token: str, in_class: bool) -> str:
    escapes_punctuation = len(token) == 2 and token[0] == "\\" and "!" <= token[1] <= "~" and not token[1].isalnum()
    if escapes_punctuation and token[1] != "_":
        return f"\\x{ord(token[1]):02x}"
    return f"\\x{ord(token):02x}" if token in ("{", "}", "]") and not in_class else token


def _tokens(pattern: str) -> Iterator[tuple[str, bool]]:
    """Yield each token, and whether it is inside a character class."""
    in_class = False
    for token in _TOKEN.findall(pattern):
        yield token, in_class
        in_class = token == "[" if not in_class else token != "]"


def _syntax_error(token: str, names: list[str], depth: int) -> str | None:
    if depth > _MAX_DEPTH:
        return f"more than {_MAX_DEPTH} nested groups"
    if token.startswith("(?<") and token.endswith(">"):
        names.append(token[3:-1])
        return f"two groups are named {names[-1]}" if names[-1] in names[:-1] else None
    if token.startswith("(?") and token not in ("(?:", "(?=", "(?!"):
        return "lookbehind is not supported" if token in ("(?<=", "(?<!") else f"{token}…) is not supported"
    if token.startswith(r"\k") and token[3:-1] not in names:
        return "a reference before its named group"
    if token[0] == "{" and token != "{" and max(int(n) for n in re.findall("[0-9]+", token)) > _MAX_REPETITIONS:
        return f"more than {_MAX_REPETITIONS:,} repetitions"
    return None


def _property_error(token: str) -> str | None:
    if token[:3] not in (r"\p{", r"\P{"):
        return None
    kind, equals, value = token[3:-1].partition("=")
    if equals:
        known = value in {"gc": _CATEGORIES, "General_Category": _CATEGORIES, "sc": _SCRIPTS, "Script": _SCRIPTS}.get(
            kind, frozenset()
        )
    else:
        known = kind in _CATEGORIES or kind in _BINARY_PROPERTIES
    return None if known else f"the property {token} is not supported"
