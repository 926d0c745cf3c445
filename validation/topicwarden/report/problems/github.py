"""Write problems as GitHub workflow commands, which GitHub Actions shows as annotations of a pull request."""

from __future__ import annotations

from topicwarden.model.problem import Level, Problem
from topicwarden.report.display import printable
from topicwarden.report.problems.digest import ProblemDigest


def annotation(command: str, message: str, properties: dict[str, str | int]) -> str:
    """Return the line ``::error file=…,line=…,title=…::message``.

    ``command`` is ``error``, ``warning`` or ``notice``. Escaping as in @actions/core (escapeData, escapeProperty),
    and of characters that control a terminal, because people read the log in terminals, too.
    """
    listed = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{command} {listed}::{_data(message)}\n"


def _data(text: str) -> str:
    # The percent sign comes first; otherwise the percent signs of the other escapes would be escaped again.
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def render(page: ProblemDigest) -> str:
    """Return one ``::error`` or ``::warning`` for each problem.

    The message repeats the location, because GitHub's log shows only the message.
    """
    return "".join(_command(problem, page.prefix) for problem in page.problems)


def _command(problem: Problem, prefix: str) -> str:
    location = problem.location
    properties: dict[str, str | int] = {
        "file": prefix + location.file,
        "line": location.line,
        "col": location.column,
        "title": f"topicwarden: {problem.rule}",
    }
    return annotation("error" if problem.level is Level.ERROR else "warning", str(problem), properties)
