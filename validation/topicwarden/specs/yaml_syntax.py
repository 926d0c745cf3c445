"""Report YAML syntax errors: libyaml's message, with the remedy for the most likely mistake."""

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
    "expected <document start>": "start another document with ---",
    "mapping values": "put a value that contains ': ' in quotes, and check the indentation",
}
"""Remedies by a part of libyaml's message."""
_REPORTED_LATE: Final = ("could not find expected ':'", "alphabetic or numeric character")
"""Messages that libyaml reports after the mistake, which is at the start of the key or the alias."""


def syntax_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    """Return the Problem for a syntax error in ``text``, at the location where the mistake most likely is."""
    problem = error.problem or ""
    if start := _CONFLICT.search(text):
        message = "not YAML: a merge conflict; resolve it, and delete the lines with <<<<<<<, ======= and >>>>>>>"
        return Problem(Location(file, text.count("\n", 0, start.start()) + 1), message, "yaml-syntax")
    # libyaml reports an unclosed quote or bracket at the end of the file. Its start is the useful location.
    unclosed = error.context_mark and error.problem_mark and error.problem_mark.index >= len(text.rstrip())
    use_start = unclosed or any(part in problem for part in _REPORTED_LATE)
    mark = error.context_mark if use_start and error.context_mark else error.problem_mark or error.context_mark
    message = f"not YAML: {problem}{f' {error.context}' if error.context else ''}; {_remedy(problem, mark, text)}"
    return Problem(Location(file, mark.line + 1, mark.column + 1) if mark else Location(file), message, "yaml-syntax")


def _remedy(problem: str, mark: yaml.Mark | None, text: str) -> str:
    lines = text.splitlines()[max(0, mark.line - 1) : mark.line + 1] if mark else []
    line = lines[-1] if lines else ""
    before, after = (line[: mark.column], line[mark.column :]) if mark else ("", "")
    candidates = (
        ("\xa0" in "".join(lines), "U+00A0 here or just above looks like a space; replace it with a space"),
        ("\t" in line and "escape" not in problem, "this line contains a tab; indent with spaces"),
        (re.search(r"\{[{%]", line), "render the template expression that is left here"),
        *((part in problem, remedy) for part, remedy in _REMEDIES.items()),
        ("cannot start any token" in problem, f"put a value that begins with {after[:1]} in quotes"),
        (
            "expected key" in problem and re.search(r"""['"]\s*$""", before),
            "the quotes end before this; put the whole value in quotes of a kind that it does not contain",
        ),
    )
    default_remedy = "check the indentation, quotes and brackets here and just above"
    return next((remedy for applies, remedy in candidates if applies), default_remedy)
