"""Read only the parameters of the commands that are called: those of all commands take as long as a small check."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Any

from typer import Typer
from typer.core import TyperArgument
from typer.main import get_command_name
from typer.models import CommandInfo

COMPLETION = "_TOPICWARDEN_COMPLETE"
"""The variable with which a shell asks for completions; they need the options of all commands."""

# In a help, typer writes the Python type of an argument after its name: TOPIC <list[str]>.
TyperArgument.display_type_rich = lambda self, ctx: None  # type: ignore[method-assign]


class CommandLine(Typer):
    """A command line that reads the parameters of the commands that it is called with."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arguments = args[0] if args else sys.argv[1:]
        return Typer.__call__(with_parameters_of(arguments, self), *args, **kwargs)


def summarize_commands(app: Typer) -> None:
    """Set the text of each command in the list of commands to the first paragraph of its help, as a whole."""
    for command in app.registered_commands:
        documentation = (command.callback and command.callback.__doc__) or ""
        command.short_help = " ".join(documentation.partition("\n\n")[0].split())
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.short_help = group.typer_instance.info.help
            summarize_commands(group.typer_instance)


def with_parameters_of(arguments: Sequence[str], app: Typer) -> Typer:
    """Return ``app`` with the parameters of the commands that are among ``arguments`` only.

    The other commands keep their names and help, and cannot be called: a command that is called is among the arguments.
    """
    return app if COMPLETION in os.environ else _selected(app, frozenset(arguments))


def _selected(app: Typer, words: Collection[str]) -> Typer:
    app = copy(app)
    app.registered_commands = [
        command if _name(command) in words else _without_parameters(command) for command in app.registered_commands
    ]
    groups = []
    for group in app.registered_groups:
        selected = copy(group)
        if group.typer_instance is not None:
            selected.typer_instance = _selected(group.typer_instance, words)
        groups.append(selected)
    app.registered_groups = groups
    return app


def _name(command: CommandInfo) -> str:
    assert command.callback is not None
    return command.name or get_command_name(command.callback.__name__)


def _without_parameters(command: CommandInfo) -> CommandInfo:
    name, changed = _name(command), copy(command)
    changed.name, changed.callback = name, _refusing(name, command.callback.__doc__ if command.callback else None)
    return changed


def _refusing(name: str, documentation: str | None) -> Callable[[], None]:
    def refuse() -> None:
        raise AssertionError(f"{name} was called without its parameters")

    refuse.__doc__ = documentation
    return refuse
