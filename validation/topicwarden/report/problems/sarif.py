"""Write problems as SARIF 2.1.0 for code scanning services and editors."""

from __future__ import annotations

from typing import Any

from topicwarden.model.problem import Problem
from topicwarden.report import sarif_log
from topicwarden.report.display import printable
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.report.problems.rule_metadata import describe


def render(page: ProblemDigest) -> str:
    """Return one run, with a description of every rule that has results. Places are relative to the repository."""
    rules = sorted({problem.rule for problem in page.problems})
    numbers = {rule: number for number, rule in enumerate(rules)}
    return sarif_log.log([_rule(rule) for rule in rules], (_result(each, numbers, page) for each in page.problems))


def _rule(rule: str) -> dict[str, Any]:
    described = describe(rule)
    return sarif_log.rule(rule, described.summary, described.text)


def _result(problem: Problem, numbers: dict[str, int], page: ProblemDigest) -> dict[str, Any]:
    location = problem.location
    return {
        "ruleId": problem.rule,
        "ruleIndex": numbers[problem.rule],
        "level": problem.level.value,
        "message": {"text": printable(problem.message)},
        "locations": [{"physicalLocation": sarif_log.at(location, page.prefix, page.sources.line(location))}],
    }
