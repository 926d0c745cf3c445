"""The declared topics of a stack, for operations that connect to its cluster."""

from __future__ import annotations

from collections.abc import Iterable

from topicwarden.model.problem import InvalidDeclarations
from topicwarden.model.project import Project
from topicwarden.model.topic_selection import none_selected, selected
from topicwarden.policies.check_specs import CheckedStacks, check
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.stacks.stack_scope import StackScope


def declared(project: Project, stack: str, participle: str) -> tuple[Declaration, ...]:
    """Return the declared topics of ``stack``; see ``checked_stack``."""
    return checked_stack(project, stack, participle).declarations[stack]


def checked_stack(project: Project, stack: str, participle: str) -> CheckedStacks:
    """Return the declarations of ``stack``, which have no error.

    Raises InvalidDeclarations if the check finds errors. ``participle`` names the operation for its message, such as
    "audited".
    """
    checked = check(project, [stack])
    if errors := checked.errors:
        what, remedy = f"the declared topics cannot be {participle}", f"run `topicwarden check --stack {stack}`"
        raise InvalidDeclarations(what, errors, remedy)
    return checked


def require_topics(names: Iterable[str], patterns: tuple[str, ...], scope: StackScope) -> None:
    """Raise Refusal if none of ``names``, declared or on the cluster, is in ``scope`` and matches the globs."""
    owned = [name for name in names if scope.owns(name)]
    if not any(selected(name, patterns) for name in owned):
        where = f" in the scope of the stack, {scope}," if scope.patterns else ", declared or on the cluster,"
        raise none_selected(f"topic{where}", patterns, owned)
