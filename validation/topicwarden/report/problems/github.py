"""Problems as GitHub's workflow commands, which Actions shows at the lines of the pull request."""

from __future__ import annotations

from topicwarden.model.problem import Level, Problem
from topicwarden.report.github_annotation import annotation
from topicwarden.report.problems.digest import ProblemDigest


def render(page: ProblemDigest) -> str:
    """A ``::error`` or ``::warning`` a problem; the log shows only the message, so the place stands in it again."""
    return "".join(_command(problem, page.prefix) for problem in page.problems)


def _command(problem: Problem, prefix: str) -> str:
    place = problem.location
    properties: dict[str, str | int] = {
        "file": prefix + place.file,
        "line": place.line,
        "col": place.column,
        "title": f"topicwarden: {problem.rule}",
    }
    return annotation("error" if problem.level is Level.ERROR else "warning", str(problem), properties)
