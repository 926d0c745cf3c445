"""Write problems for a terminal or a log: the location, the message, and the line with a caret below it."""

from __future__ import annotations

from typing import Final

from rich.cells import cell_len
from typer import style

from topicwarden.model.problem import Level, Problem
from topicwarden.report.display import printable
from topicwarden.report.problems.digest import ProblemDigest

# Longer lines are cut to this number of characters before and after the location.
_BEFORE: Final = 60
_AFTER: Final = 60


def render(page: ProblemDigest, coloured: bool = False) -> str:
    """Return ``file:line:col: message [rule]`` for each problem, followed by the source line.

    The first line has the common format of compilers, which editors can parse.
    """
    return "".join(_problem(problem, page, coloured) for problem in page.problems)


def _problem(problem: Problem, page: ProblemDigest, coloured: bool) -> str:
    source = _source(problem, page.sources.line(problem.location), coloured)
    if not coloured:
        return f"{printable(str(problem))}\n{source}"
    colour, word = ("red", "") if problem.level is Level.ERROR else ("yellow", style("warning: ", fg="yellow"))
    location, rule = style(str(problem.location), bold=True), style(f"[{problem.rule}]", fg=colour)
    return f"{location}: {word}{printable(problem.line)} {rule}\n{source}"


def _source(problem: Problem, line: str, coloured: bool) -> str:
    if not line.strip():
        return ""
    at = min(problem.location.column - 1, len(line))
    start, end = max(0, at - _BEFORE), at + _AFTER
    before = ("…" if start else "") + _shown(line[start:at])
    after = _shown(line[at:end]) + ("…" if end < len(line) else "")
    margin = f"{problem.location.line:>5} | "
    caret = " " * (len(margin) - 2) + "| " + " " * cell_len(before)
    if not coloured:
        return f"{margin}{before}{after}\n{caret}^\n"
    colour = "red" if problem.level is Level.ERROR else "yellow"
    return f"{style(margin, dim=True)}{before}{after}\n{style(caret, dim=True)}{style('^', fg=colour, bold=True)}\n"


def _shown(part: str) -> str:
    return printable(part.replace("\t", " "))
