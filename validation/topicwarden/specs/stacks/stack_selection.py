"""The stacks that a command works on: the stack of ``--stack``, or all stacks of the project."""

from __future__ import annotations

import os

from topicwarden.model.message_text import did_you_mean
from topicwarden.model.problem import Refusal
from topicwarden.model.project import Project


def selected_stacks(project: Project, stack: str | None) -> list[str]:
    """Return ``[stack]``, or all stacks of the project if ``stack`` is None.

    Raise Refusal if the stack is unknown, or if the project has no stacks, or a folder of stacks that cannot be read.
    """
    known = project.stack_names()
    if not known and project.stacks.is_dir() and not os.access(project.stacks, os.R_OK | os.X_OK):
        raise Refusal(f"{project.stacks} cannot be read: check its permissions")
    if not known:
        raise Refusal("the project has no stacks: write stacks/Pulumi.<stack>.yaml")
    if stack is None:
        return known
    if stack not in known:
        raise Refusal(f"no stack {stack}; stacks: {', '.join(known)}{did_you_mean(stack, known)}")
    return [stack]


def only_stack(project: Project, stack: str | None) -> str:
    """Return ``stack``, or the only stack of the project if ``stack`` is None.

    Raise Refusal as ``selected_stacks`` does, and if ``stack`` is None and the project has several stacks.
    """
    stacks = selected_stacks(project, stack)
    if len(stacks) > 1:
        raise Refusal(f"a topic can differ by stack; select one with --stack: {', '.join(stacks)}")
    return stacks[0]
