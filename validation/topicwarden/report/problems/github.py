"""Write problems as GitHub workflow commands, which GitHub Actions shows at the lines of a pull request."""

from __future__ import annotations

from topicwarden.model.problem import Level, Problem
from topicwarden.report.github_annotation import annotation
from topicwarden.report.problems.digest import ProblemDigest


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
