"""Which partitioners of a topic's own the audit may run: they are code, in the process that holds the password.

A Python function must be on the stack's list. An expression of Spark SQL may compute, and nothing else: Spark also has
functions that call any Java method (``reflect``), subqueries that read files, and ``${env:NAME}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from topicwarden.model.problem import Problem
from topicwarden.model.topic import Contents
from topicwarden.specs.broker_settings import PARTITION_FUNCTIONS
from topicwarden.specs.message_text import quoted
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.yaml_nodes import KeyPath

RULE: Final = "partition-function"
_FORBIDDEN: Final = re.compile(
    r"\b(?:try_)?reflect\b|\bjava_method\b|\bidentifier\b|\$\{|/\*|--|\(\s*(?:select|table|from|with|map|reduce)\b",
    re.IGNORECASE,
)


def partitioner_problems(declarations: Iterable[Declaration], functions: frozenset[str]) -> Iterator[Problem]:
    """The partitioners that the audit would not run; ``functions`` are those that the stack's settings allow."""
    for declaration in declarations:
        for path, message in _refused(declaration.topic.contents, functions):
            yield Problem(declaration.places.at(path), message, RULE)


def refused(contents: Contents, functions: frozenset[str]) -> str | None:
    """Why the declared partitioner may not be run; None if it may."""
    return next((message for _, message in _refused(contents, functions)), None)


def _refused(contents: Contents, functions: frozenset[str]) -> Iterator[tuple[KeyPath, str]]:
    name, expression = contents.partition_function, contents.partition_expression
    if name and name not in functions:
        yield (
            ("contents", "key", "partition_function"),
            f"partition_function: {name} is not listed in {PARTITION_FUNCTIONS} of the stack, so the audit does not "
            "import it; list it there if its code may run beside the cluster's password",
        )
    if expression and (found := _FORBIDDEN.search(expression)):
        yield (
            ("contents", "key", "partition_expression"),
            f"partition_expression: expected arithmetic and functions over key and partitions, seen "
            f"{quoted(found[0])}; an expression may not call Java, read tables or variables, or hold comments",
        )
