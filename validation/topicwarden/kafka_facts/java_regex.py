"""Find the errors of a regular expression that a broker compiles with ``java.util.regex.Pattern``.

A broker refuses a pattern with a reported error. The reverse does not hold: names of Unicode properties, ranges with
escaped ends, the length of a look-behind and patterns with the flag ``x`` are not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_QUOTED: Final = re.compile(r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\\.", re.DOTALL)
_COMMENTS: Final = re.compile(r"\(\?[imsducU]*x")
_ESCAPE_IN_CLASS: Final = (
    r"\\(?:0[0-7]|c.|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]+\}|[pP](?:[^{]|\{[^}]+\})|N\{[^}]+\}"
    r"|[aefnrtdDhHsSvVwW]|[^0-9A-Za-z])"
)
_GROUP: Final = r"\((?:(?!\?)|\?(?:[:=!>]|<[=!]|<[A-Za-z][A-Za-z0-9]*>|[imsducU]*(?:-[imsducxU]*)?[:)]))"
_TOKEN: Final = re.compile(
    rf"(?P<escape>{_ESCAPE_IN_CLASS}|\\(?:[1-9]|b\{{g\}}|[ABbGRXZz]|k<[A-Za-z][A-Za-z0-9]*>))"
    rf"|(?P<group>{_GROUP})|(?P<close>\))|(?P<class>\[)"
    r"|(?P<quantifier>[?*+]|\{(?P<least>[0-9]+)(?:,(?P<most>[0-9]*))?\})[?+]?"
    r"|(?P<wrong>[\\({])|(?P<end>[|])|.",
    re.DOTALL,
)
_CLASS_TOKEN: Final = re.compile(
    rf"(?P<escape>{_ESCAPE_IN_CLASS})|(?P<open>\[\^?)|(?P<close>\])|(?P<wrong>\\)"
    r"|(?P<first>[^\\\[\]&])-(?P<last>[^\\\[\]&])|.",
    re.DOTALL,
)
_WRONG: Final = {
    "\\": "an unknown or incomplete escape sequence",
    "(": "an unknown type of group",
    "{": "a { that is not a number of repetitions",
}


def java_regex_problem(pattern: str) -> str | None:
    r"""Return why Java refuses ``pattern``, such as ``a character class has no ]``; None if no error is found."""
    # A quoted character is a literal, as an escaped one is.
    text = _QUOTED.sub(lambda match: r"\." * len(match["quoted"]) if match["quoted"] is not None else match[0], pattern)
    return None if _COMMENTS.search(pattern) else next(_problems(text), None)


def _problems(text: str) -> Iterator[str]:
    """Yield the problems of a pattern without quotes; only the first is certain."""
    position, depth, repeatable = 0, 0, False
    while match := _TOKEN.match(text, position):
        position = match.end()
        if match["wrong"]:
            yield _WRONG[match["wrong"]]
        if match["class"]:
            end = _end_of_class(text, match.start())
            if isinstance(end, str):
                yield end
            else:
                position = end
        if match["quantifier"] and match["least"] is None and not repeatable:
            yield f"{match['quantifier']} without anything to repeat"
        if match["most"] and int(match["most"]) < int(match["least"]):
            yield f"{match['quantifier']}: the second number is below the first"
        depth += bool(match["group"] and match["group"][-1:] != ")") - bool(match["close"])
        if depth < 0:
            yield "a ) without a ("
        repeatable = not (match["group"] or match["end"] or match["quantifier"])
    if depth:
        yield "a group has no )"


def _end_of_class(text: str, position: int) -> int | str:
    """Return the index after the character class that begins at ``position``, or its error. Classes may be nested."""
    empty: list[bool] = []
    while match := _CLASS_TOKEN.match(text, position):
        position = match.end()
        if match["wrong"]:
            return _WRONG["\\"] + " in a character class"
        if match["first"] and match["last"] < match["first"]:
            return f"the range {match[0]} is in the wrong order"
        if match["open"]:
            empty.append(True)
        elif match["close"] and not empty[-1]:  # the first ] is a literal
            empty.pop()
            if not empty:
                return position
            empty[-1] = False
        else:
            empty[-1] = False
    return "a character class has no ]"
