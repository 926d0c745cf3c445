"""The command line: select and call one command, exit with its code, and turn errors into one line."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Collection, Sequence
from copy import copy
from typing import Annotated, Any

import typer
from typer import Typer
from typer.core import TyperArgument
from typer.main import get_command_name
from typer.models import CommandInfo

from topicwarden import __version__
from topicwarden.child_processes import ended_by_signal, ending_children
from topicwarden.cli import (
    audit,
    check,
    ci,
    deploy,
    doctor,
    export,
    help,
    import_,
    infer,
    init,
    plan,
    rebalance,
    redrive,
    rules,
    sandbox,
    schema,
    show,
    usage,
    watch,
)
from topicwarden.cli.demo import demo
from topicwarden.cli.failure import CODE, details_of, line_for
from topicwarden.cli.terminal import never_silent
from topicwarden.report.display import printable
from topicwarden.report.terminal_output import VERBOSITY, open_standard_outputs, without_commands

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


def exit_with(code: int | None, **_: object) -> None:
    """End the process with the exit code that a command returned; ``_`` has the options before the command."""
    raise typer.Exit(code or 0)


app = CommandLine(
    name="topicwarden",
    help="Manage Kafka topics declaratively: check the YAML, deploy with Pulumi, audit the records.",
    epilog="Exit codes: 0 success; 1 something is not as declared, or is refused; 2 the command could not run.",
    no_args_is_help=True,
    result_callback=exit_with,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the help has no escapes, and loads no rich, which takes as long as all the rest
)
for module in (
    init,
    check,
    show,
    import_,
    export,
    plan,
    deploy,
    audit,
    infer,
    watch,
    usage,
    rebalance,
    redrive,
    doctor,
    demo,
    help,
    schema,
    rules,
):
    app.add_typer(module.app)
app.add_typer(sandbox.app, name="sandbox")
app.add_typer(ci.app, name="ci")
summarize_commands(app)


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors only, no progress.")] = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Print all of long lists and, after an error, its details, as in the log file."
        ),
    ] = False,
) -> None:
    VERBOSITY.quiet, VERBOSITY.verbose = quiet, verbose
    if version:
        print(__version__)
        raise typer.Exit


def run() -> None:
    """Run the command line; the entry point of the program ``topicwarden``."""
    open_standard_outputs()
    try:
        with ending_children(), never_silent(_command()):
            app()
    except Exception as error:  # noqa: BLE001 -- the one place where every error becomes a line and an exit code
        if (ended := ended_by_signal(error)) is not None:
            sys.exit(ended)
        print(without_commands(f"topicwarden: {printable(line_for(error))}"), file=sys.stderr)
        if VERBOSITY.verbose and (details := details_of(error)):
            print(without_commands(details), file=sys.stderr)
        sys.exit(CODE)


def _command() -> str:
    """Return the command as it is called, without its options: `topicwarden sandbox up`."""
    words = itertools.takewhile(lambda word: not word.startswith("-"), itertools.dropwhile(_is_option, sys.argv[1:]))
    return " ".join(["topicwarden", *itertools.islice(words, 2)])


def _is_option(word: str) -> bool:
    return word.startswith("-")
