"""The stacks that the options `--stack` and `--all-stacks` select: one, as ever, or several in one report."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from topicwarden.model.problem import Refusal


def several_stacks(stacks: Sequence[str] | None, all_stacks: bool) -> tuple[str, ...] | None:
    """Return the names for a report on several stacks, each once; empty for all. None for a single stack.

    Raises Refusal for both options together.
    """
    if all_stacks and stacks:
        raise Refusal("--all-stacks has every stack: remove --stack, or remove --all-stacks")
    names = tuple(dict.fromkeys(stacks or ()))
    return names if all_stacks or len(names) > 1 else None


class MissingStack(typer.BadParameter):
    """The error of a command without ``--stack`` and ``--all-stacks``."""

    def format_message(self) -> str:
        """Return the message of an option that is missing, without ``Invalid value``."""
        return self.message


def single_stack(stacks: Sequence[str] | None, context: typer.Context) -> str:
    """Return the only name. Without one, raise the error of an option that is missing."""
    if not stacks:
        raise MissingStack("Missing option '--stack' / '-s', or '--all-stacks'.", ctx=context)
    return stacks[0]
