"""Checks of custom partitioners. They are code that runs in the audit process, which has the cluster's password.

A Python function must be on the stack's allow list. A Spark SQL expression may only compute. It must not use other
features of Spark SQL: functions that call any Java method (``reflect``), subqueries that read files, ``${env:NAME}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from topicwarden.model.contents import Contents
from topicwarden.model.message_text import quoted
from topicwarden.model.problem import Problem
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.stack_settings import PARTITION_FUNCTIONS
from topicwarden.specs.yaml_nodes import KeyPath

RULE: Final = "partition-function"
_FORBIDDEN: Final = re.compile(
    r"\b(?:try_)?reflect\b|\bjava_method\b|\bidentifier\b|\$\{|/\*|--|\(\s*(?:select|table|from|with|map|reduce)\b",
    re.IGNORECASE,
)


def partitioner_problems(declarations: Iterable[Declaration], functions: frozenset[str]) -> Iterator[Problem]:
    """Yield a problem for each partitioner that the audit refuses to run.

    ``functions`` are the Python functions that the stack's settings allow.
    """
    for declaration in declarations:
        for path, message in _messages(declaration.topic.contents, functions):
            yield Problem(declaration.locations.at(path), message, RULE)


def refusal_reason(contents: Contents, functions: frozenset[str]) -> str | None:
    """Return the reason why the audit must not run the declared partitioner; None if it may."""
    return next((message for _, message in _messages(contents, functions)), None)


def _messages(contents: Contents, functions: frozenset[str]) -> Iterator[tuple[KeyPath, str]]:
    name, expression = contents.key.partition_function, contents.key.partition_expression
    if name and name not in functions:
        yield (
            ("contents", "key", "partition_function"),
            f"partition_function: {name} is not listed in {PARTITION_FUNCTIONS} of the stack, so the audit does not "
            "import it; if you trust its code to run in a process that has the cluster's password, list it there",
        )
    if expression and (match := _FORBIDDEN.search(expression)):
        yield (
            ("contents", "key", "partition_expression"),
            f"partition_expression: expected arithmetic and functions over key and partitions, got "
            f"{quoted(match[0])}; an expression must not call Java, read tables or variables, or contain comments",
        )
