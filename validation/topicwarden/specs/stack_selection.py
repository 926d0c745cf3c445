"""The stacks that a command is told, or all of them."""

from __future__ import annotations

from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project
from topicwarden.specs.message_text import guess


def stacks_of(project: Project, stack: str | None) -> list[str]:
    """``stack`` alone where it is given, else every one; refuses an unknown one, and a project without any."""
    known = project.stack_names()
    if not known:
        raise Refusal("the project has no stack, so no topic is declared for any: write stacks/Pulumi.<stack>.yaml")
    if stack is None:
        return known
    if stack not in known:
        meant = guess(stack, known) or f"; the project has {', '.join(known)}"
        raise Refusal(f"there is no stack {stack!r}: stacks/Pulumi.{stack}.yaml does not exist{meant}")
    return [stack]
