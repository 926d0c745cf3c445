"""`topicwarden check`: specs and policies, without a cluster."""

from __future__ import annotations

import sys

from topicwarden.policies.check import check as judge
from topicwarden.problem import Level, Refusal
from topicwarden.project import find_project


def check(stack: str | None) -> int:
    """Prints every problem, a line each; 1 where one is an error."""
    project = find_project()
    if stack is not None and stack not in project.stack_names():
        known = ", ".join(project.stack_names()) or "none"
        raise Refusal(f"there is no stack {stack!r}: stacks/Pulumi.{stack}.yaml does not exist (stacks: {known})")
    checked = judge(project, [stack] if stack else project.stack_names())
    for problem in checked.problems:
        print(problem)
    errors = sum(problem.level is Level.ERROR for problem in checked.problems)
    topics = len({held.topic.name for declared in checked.declarations.values() for held in declared})
    warnings = len(checked.problems) - errors
    print(f"{_many(topics, 'topic')}: {_many(errors, 'error')}, {_many(warnings, 'warning')}", file=sys.stderr)
    return 1 if errors else 0


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
