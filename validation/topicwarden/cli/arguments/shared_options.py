"""Options and arguments of several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from topicwarden.cli import completion
from topicwarden.model.problem import Refusal
from topicwarden.model.project import find_project
from topicwarden.specs.stacks.stack_selection import selected_stacks


def stack_option(help_text: str) -> Any:
    """Return the option ``--stack``, which shells complete. A stack that does not exist is refused."""
    return typer.Option(
        "--stack", "-s", metavar="STACK", help=help_text, autocompletion=completion.stacks, callback=_require_stacks
    )


def project_option(help_text: str) -> Any:
    """Return the option ``--project``. It is read before ``--stack``, which names a stack of this project."""
    return typer.Option("--project", metavar="DIR", help=help_text, show_default=False, is_eager=True)


def _require_stacks(context: typer.Context, value: Any) -> Any:
    """Return the value of ``--stack``, one name or several. Raises Refusal for one that is no stack of the project."""
    names = [value] if isinstance(value, str) else value or ()
    if names and not context.resilient_parsing:
        folder: Path | None = context.params.get("project")
        try:
            project = find_project(folder)
        except Refusal:  # the command says so, unless it needs no project
            return value
        for name in names:
            selected_stacks(project, name)
    return value


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
MaxRecords = Annotated[
    int | None,
    typer.Option(
        "--max-records",
        metavar="N",
        help="Read at most this number of records, the newest of each partition. Rules are then only suggested.",
    ),
]
MinRecords = Annotated[
    int, typer.Option("--min-records", metavar="N", help="A rule rests on at least this number of records.")
]
ShowValues = Annotated[
    bool,
    typer.Option(
        "--show-values", help="Write values of records into contracts: enumerations and bounds, but no personal data."
    ),
]
