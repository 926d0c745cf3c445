"""Where a file stops to be YAML, and what to do: libyaml's words, with the mistake that people mostly made there."""

from __future__ import annotations

import re
from typing import Final

import yaml

from topicwarden.model.problem import Location, Problem

_CONFLICT: Final = re.compile(r"^[<>]{7} ", re.MULTILINE)
_ALIAS: Final = "put a value that begins with * or & in quotes, or write the name after it"
_REMEDIES: Final = {
    "undefined alias": "define it with & above, in the same document",
    "could not find expected ':'": "write the colon and a space after the key",
    "alphabetic or numeric character": _ALIAS,
    "unknown escape character": "write \\\\ for a backslash, or use single quotes",
    "expected <document start>": "begin another document with ---",
    "mapping values": "put a value that holds ': ' in quotes, and look at the indentation",
}
"""By a part of what libyaml says."""
_FROM_THE_START: Final = ("could not find expected ':'", "alphabetic or numeric character")
"""What libyaml only notices later: the mistake is where it began to read the key or the alias."""


def syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    """The error of a file of ``text`` as a Problem at the place to look at."""
    said = error.problem or ""
    if start := _CONFLICT.search(text):
        message = "not YAML: a merge conflict; keep what holds, and delete the lines of <<<<<<<, ======= and >>>>>>>"
        return Problem(Location(file, text.count("\n", 0, start.start()) + 1), message, "yaml-syntax")
    # What is never closed is only noticed at the end of the file; what helps is where it began.
    unclosed = error.context_mark and error.problem_mark and error.problem_mark.index >= len(text.rstrip())
    early = unclosed or any(each in said for each in _FROM_THE_START)
    mark = error.context_mark if early and error.context_mark else error.problem_mark or error.context_mark
    message = f"not YAML: {said}{f' {error.context}' if error.context else ''}; {_remedy(said, mark, text)}"
    return Problem(Location(file, mark.line + 1, mark.column + 1) if mark else Location(file), message, "yaml-syntax")


def _remedy(said: str, mark: yaml.Mark | None, text: str) -> str:
    lines = text.splitlines()[max(0, mark.line - 1) : mark.line + 1] if mark else []
    line = lines[-1] if lines else ""
    before, after = (line[: mark.column], line[mark.column :]) if mark else ("", "")
    found = (
        ("\xa0" in "".join(lines), "U+00A0 here or just above looks like a space and is none; write a space"),
        ("\t" in line and "escape" not in said, "YAML is indented with spaces, and this line holds a tab"),
        (re.search(r"\{[{%]", line), "fill in the template that is left here"),
        *((part in said, remedy) for part, remedy in _REMEDIES.items()),
        ("cannot start any token" in said, f"put a value that begins with {after[:1]} in quotes"),
        (
            "expected key" in said and re.search(r"""['"]\s*$""", before),
            "the quotes end before this; put all of the value in quotes, of the kind that it does not hold",
        ),
    )
    otherwise = "look at the indentation, quotes and brackets here and just above"
    return next((remedy for holds, remedy in found if holds), otherwise)
