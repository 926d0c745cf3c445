"""Write problems as SARIF 2.1.0 for code scanning services and editors."""

from __future__ import annotations

import inspect
from typing import Any

from topicwarden.model.problem import Problem
from topicwarden.policies.rules import ALL_RULES
from topicwarden.report import sarif_log
from topicwarden.report.display import first_sentence, printable
from topicwarden.report.problems.digest import ProblemDigest
from topicwarden.specs.problem_ids import PROBLEM_IDS


def render(page: ProblemDigest) -> str:
    """Return one run, with a description of every rule that has results. Places are relative to the repository."""
    rules = sorted({problem.rule for problem in page.problems})
    numbers = {rule: number for number, rule in enumerate(rules)}
    described = [sarif_log.rule(rule, *describe(rule)) for rule in rules]
    return sarif_log.log(described, (_result(each, numbers, page) for each in page.problems))


def _result(problem: Problem, numbers: dict[str, int], page: ProblemDigest) -> dict[str, Any]:
    location = problem.location
    return {
        "ruleId": problem.rule,
        "ruleIndex": numbers[problem.rule],
        "level": problem.level.value,
        "message": {"text": printable(problem.message)},
        "locations": [{"physicalLocation": sarif_log.at(location, page.prefix, page.sources.line(location))}],
    }


def describe(rule: str) -> tuple[str, str]:
    """Return the first sentence and the text of a rule: its docstring, or the loader's description of its problems.

    Expressions of the project itself have neither, and get a generic text.
    """
    texts = [inspect.getdoc(ALL_RULES[rule]) or ""] if rule in ALL_RULES else []
    texts += [PROBLEM_IDS[rule]] if rule in PROBLEM_IDS else []
    if not texts:
        return f"{rule}, a rule of this project", f"{rule} is written in this project's policies/*.yaml."
    text = "\n\n".join(texts)
    return first_sentence(text), text
