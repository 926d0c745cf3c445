"""Problems as GitHub's workflow commands, which Actions shows at the lines of the pull request."""

from __future__ import annotations

from topicwarden.problem import Level, Problem
from topicwarden.report.problems.page import Page


def render(page: Page) -> str:
    """A ``::error`` or ``::warning`` a problem; the log shows only the message, so the place stands in it again."""
    return "".join(f"{_command(problem, page.prefix)}\n" for problem in page.problems)


def _command(problem: Problem, prefix: str) -> str:
    place = problem.location
    command = "error" if problem.level is Level.ERROR else "warning"
    properties = {
        "file": prefix + place.file,
        "line": place.line,
        "col": place.column,
        "title": f"topicwarden: {problem.rule}",
    }
    shown = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{command} {shown}::{_data(str(problem))}"


def _data(text: str) -> str:
    # As escapeData of @actions/core: the per cent sign first, or the others' would be escaped again.
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
