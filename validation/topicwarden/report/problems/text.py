"""Write problems for a terminal or a log: the location, the message, and the line with a caret below it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rich.cells import cell_len
from typer import style

from topicwarden.model.message_text import counted, counted_more, first_of
from topicwarden.model.problem import Level, Problem
from topicwarden.policies.rules import ALL_RULES
from topicwarden.report.display import printable
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.specs.problem_ids import PROBLEM_IDS

# Longer lines are cut to this number of characters before and after the location.
_BEFORE: Final = 60
_AFTER: Final = 60

_MOST_ALIKE: Final = 3
"""The most files with a problem of one rule that are each printed, and the most folders of more files."""
_MOST_SHOWN: Final = 30
"""The most problems, and rules of many files, that are printed; the others are counted."""
_MOST_COUNTED: Final = 8
_DEFAULTS: Final = "_defaults.yaml"
_ALL: Final = "a rule that many files violate has one line; `topicwarden check --format json` lists every problem\n"
_REST: Final = "`topicwarden --verbose check` prints all"


def render(page: ProblemDigest, coloured: bool = False, *, whole: bool = True) -> str:
    """Return ``file:line:col: message [rule]`` for each problem, followed by the source line.

    The first line has the common format of compilers, which editors can parse. Problems of one rule in many files are
    one such line for each folder, without the source line. Without ``whole``, many other problems are counted by rule
    and folder.
    """
    parts: list[tuple[Problem, str]] = []
    alike: dict[tuple[object, ...], list[Problem]] = {}
    for problem in page.problems:
        # Problems of the files themselves, such as an unknown key, are only alike if they have the same message.
        own = problem.line if problem.rule in PROBLEM_IDS and problem.rule not in ALL_RULES else ""
        alike.setdefault((problem.rule, problem.level, problem.default, own), []).append(problem)
    for problems in alike.values():
        if len({problem.location.file for problem in problems}) <= _MOST_ALIKE:
            parts += [(problem, _problem(problem, page, coloured)) for problem in problems]
        else:
            parts += [(group[0], f"{_line(_first_of(group), coloured)}\n") for group in _by_folder(problems)]
    folded = len(parts) < len(page.problems)
    most = len(parts) if whole else _MOST_SHOWN
    parts.sort(key=lambda part: (part[0].level is not Level.ERROR, part[0]))
    shown, others = sorted(parts[:most], key=lambda part: part[0]), [problem for problem, _ in parts[most:]]
    return "".join(part for _, part in shown) + (_counts(others) if others else "") + (_ALL if folded else "")


def _counts(problems: Sequence[Problem]) -> str:
    """Return the line on the problems that are not shown: ``and 7 more problems: 7 unknown-key; in 7 topics/a; …``."""
    counts = (Counter(problem.rule for problem in problems), Counter(map(_folder, problems)))
    rules, folders = (
        first_of([f"{number:,} {named}" for named, number in each.most_common()], _MOST_COUNTED) for each in counts
    )
    return f"and {counted_more(len(problems), 'problem')}: {rules}; in {folders}; {_REST}\n"


def _by_folder(problems: Sequence[Problem]) -> list[list[Problem]]:
    """Return the problems of each folder; all together if there are many folders, and no line repairs a folder."""
    folders: dict[str, list[Problem]] = {}
    for problem in problems:
        folders.setdefault(_folder(problem), []).append(problem)
    return list(folders.values()) if problems[0].default or len(folders) <= _MOST_ALIKE else [list(problems)]


def _folder(problem: Problem) -> str:
    return problem.location.file.rpartition("/")[0]


def _first_of(group: Sequence[Problem]) -> Problem:
    """Return the first problem of a rule, with the number of the others and what repairs all in its message."""
    first, folders = group[0], {_folder(problem) for problem in group}
    where = f"{_folder(first)}/" if len(folders) == 1 else counted(len(folders), "folder")
    more = [f"{counted_more(len(group) - 1, 'problem')} in {where}"] if len(group) > 1 else []
    more += [f"for all: `{first.default}` in {_folder(first)}/{_DEFAULTS}"] if first.default and more else []
    return replace(first, message=f"{first.line} ({'; '.join(more)})") if more else first


def _problem(problem: Problem, page: ProblemDigest, coloured: bool) -> str:
    source = _source(problem, page.sources.line(problem.location), coloured)
    return f"{_line(problem, coloured)}\n{source}"


def _line(problem: Problem, coloured: bool) -> str:
    if not coloured:
        return printable(str(problem))
    colour, word = ("red", "") if problem.level is Level.ERROR else ("yellow", style("warning: ", fg="yellow"))
    location, rule = style(str(problem.location), bold=True), style(f"[{problem.rule}]", fg=colour)
    return f"{location}: {word}{printable(problem.line)} {rule}"


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
