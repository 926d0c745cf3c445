"""Options and arguments of several commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from topicwarden.cli import completion


def stack_option(help_text: str) -> Any:
    """Return the option ``--stack``, which shells complete."""
    return typer.Option("--stack", "-s", metavar="STACK", help=help_text, autocompletion=completion.stacks)


Stack = Annotated[str, stack_option("stacks/Pulumi.STACK.yaml")]
Stacks = Annotated[
    list[str] | None, stack_option("stacks/Pulumi.STACK.yaml. Can be repeated, for one report on several stacks.")
]
AllStacks = Annotated[
    bool, typer.Option("--all-stacks", help="All stacks of the project, one after another, in one report.")
]
OnlyStack = Annotated[str | None, stack_option("The stack; optional if the project has only one.")]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--topics",
        "-t",
        metavar="GLOB",
        autocompletion=completion.topics,
        help="Only topics that match this glob, or not !GLOB. Can be repeated.",
    ),
]
Broker = Annotated[int, typer.Argument(help="The id of the broker, from 1.", min=1)]
