"""Problems as SARIF 2.1.0, which code scanning services and editors read."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from topicwarden import __version__
from topicwarden.problem import Location, Problem
from topicwarden.report.problems.page import Page
from topicwarden.report.problems.rules import describe

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(page: Page) -> str:
    """One run, with a description of every rule that has results; places are relative to the repository."""
    rules = sorted({problem.rule for problem in page.problems})
    numbers = {rule: number for number, rule in enumerate(rules)}
    driver = {"name": "topicwarden", "semanticVersion": __version__, "rules": [_rule(rule) for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [_result(problem, numbers, page) for problem in page.problems],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(rule: str) -> dict[str, Any]:
    described = describe(rule)
    return {
        "id": rule,
        "shortDescription": {"text": described.summary},
        "fullDescription": {"text": described.text},
        "help": {"text": described.text, "markdown": described.text},
    }


def _result(problem: Problem, numbers: dict[str, int], page: Page) -> dict[str, Any]:
    place = problem.location
    region = {"startLine": place.line, "startColumn": _utf16_column(place, page.sources.line(place))}
    physical = {
        "artifactLocation": {"uri": quote(page.prefix + place.file), "uriBaseId": "%SRCROOT%"},
        "region": region,
    }
    return {
        "ruleId": problem.rule,
        "ruleIndex": numbers[problem.rule],
        "level": problem.level.value,
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": physical}],
    }


def _utf16_column(place: Location, line: str) -> int:
    """A character beyond the basic plane counts two."""
    return place.column + sum(ord(character) > 0xFFFF for character in line[: place.column - 1])
