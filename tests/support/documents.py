"""Read what the documentation tells readers to type, and run the Python code of docs/reference/python.md."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Final, cast

import pytest
import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from topicwarden.cli.main import app
from topicwarden.model.problem import Refusal

PARSER = get_group(app)
_USAGE_ERROR = cast(type[Exception], typer.BadParameter.__base__)
"""Click's ``UsageError``. Typer bundles its own copy of Click, and exports only this subclass."""
_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(`+)(?P<code>.+?)\1")
_COMMAND = re.compile(r"(?<![\w./:-])topicwarden (?P<arguments>[a-z-][^|;&<>()#]*)")
_DIAGRAM = re.compile(r"(?<=──▶ )(topicwarden \w+) {2,}.*")
"""A command in a diagram, and what it is for."""


PAGE: Final = (Path(__file__).parents[2] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
BLOCKS: Final = dict(re.findall(r"^```python\n# ([\w/]+)\.py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@dataclass(frozen=True)
class Code:
    """A line of a code block, or a code span; ``line`` starts at 1."""

    line: int
    text: str
    block: bool


def code(document: str) -> Iterator[Code]:
    """Yield every line of the code blocks, and every code span, of a Markdown document."""
    prose = document
    for block in _FENCED.finditer(document):
        first = document.count("\n", 0, block.start()) + 2
        joined = block["code"].replace("\\\n", "  ")
        yield from (Code(first + number, line, True) for number, line in enumerate(joined.splitlines()))
        prose = prose.replace(block[0], "\n" * block[0].count("\n"))
    for number, line in enumerate(prose.splitlines(), 1):
        yield from (Code(number, span["code"].strip(), False) for span in _SPAN.finditer(line))


def commands(document: str) -> Iterator[tuple[Code, list[str]]]:
    """Yield the arguments of every ``topicwarden …`` command in code."""
    for each in code(document):
        for found in _COMMAND.finditer(_DIAGRAM.sub(r"\1", each.text)):
            yield each, shlex.split(found["arguments"])


def options(document: str) -> Iterator[tuple[Code, list[str]]]:
    """Yield every option that is a code span by itself, with its value if it has one."""
    for each in code(document):
        if not each.block and re.match(r"--[a-z]", each.text):
            yield each, shlex.split(each.text)


def problem(arguments: list[str], parser: TyperGroup | TyperCommand = PARSER) -> str | None:
    """Return why the command line rejects ``arguments``, or None. Missing arguments are not an error."""
    if isinstance(parser, TyperGroup) and arguments and not arguments[0].startswith("-"):
        command = dict(_subcommands(parser)).get(arguments[0])
        return problem(arguments[1:], command) if command else f'there is no command "{arguments[0]}"'
    try:
        # In `--max-records N` the reader replaces N. Every option type that we use accepts a 1.
        parser.make_context(parser.name, ["1" if one.isupper() else one for one in arguments])
    except Refusal:
        return None  # a stack of the reader's project
    except _USAGE_ERROR as error:
        return None if type(error).__name__ in ("MissingParameter", "NoArgsIsHelpError") else str(error)
    return None


def option_problem(arguments: list[str]) -> str | None:
    """Return why no command accepts this option, or None if a command does."""
    commands = leaves(PARSER).values()
    if len(arguments) == 1:  # an option without its value, even if the option requires one
        known = any(arguments[0] in (*one.opts, *one.secondary_opts) for command in commands for one in command.params)
        return None if known else f"no command has the option {arguments[0]}"
    problems = [problem(arguments, command) for command in commands]
    return None if None in problems else problems[0]


def leaves(group: TyperGroup) -> dict[str, TyperCommand]:
    """Return every command that is not a group, by its full name, such as ``sandbox up``."""
    found: dict[str, TyperCommand] = {}
    for name, command in _subcommands(group):
        if isinstance(command, TyperGroup):
            found |= {f"{name} {below}": each for below, each in leaves(command).items()}
        else:
            found[name] = command
    return found


def _subcommands(group: TyperGroup) -> Iterator[tuple[str, TyperGroup | TyperCommand]]:
    for name, command in group.commands.items():
        assert isinstance(command, TyperGroup | TyperCommand)
        yield name, command


def targets(document: str) -> Iterator[tuple[Code, str]]:
    """Yield every ``make`` target in code."""
    for each in code(document):
        for found in re.finditer(r"(?:^|[\s;&])make (?P<target>[a-z][\w-]*)", each.text):
            yield each, found["target"]


def files(document: str, roots: Collection[Path]) -> Iterator[tuple[Code, str]]:
    """Yield every code span that is a path and begins with a folder of one of ``roots``."""
    folders = sorted({path.name for root in roots for path in root.iterdir() if path.is_dir()})
    named = re.compile(rf"(?:{'|'.join(map(re.escape, folders))})/[\w./-]*")
    for each in code(document):
        if not each.block and named.fullmatch(each.text):
            yield each, each.text


def links(document: str) -> Iterator[str]:
    """Yield the target of every link to a file."""
    for found in re.finditer(r"\]\((?!https?:|#)(?P<target>[^)#\s]+)", document):
        yield found["target"]


def block(name: str) -> ModuleType:
    """Return the code block of the file ``name`` as a module."""
    module = ModuleType(name)
    exec(compile(BLOCKS[name], name, "exec", dont_inherit=True), module.__dict__)
    return module


def scheduled(name: str, tasks: ModuleType, patch: pytest.MonkeyPatch) -> ModuleType:
    """Return the block ``name`` of a scheduler: its decorators change nothing, and the flow of tasks is not run."""
    airflow, dagster = ModuleType("airflow.sdk"), ModuleType("dagster")
    airflow.__dict__.update(task=_plain, dag=lambda **_: lambda flow: lambda: None)
    dagster.__dict__.update(asset_check=_plain, AssetCheckResult=SimpleNamespace)
    stand_ins = {"kafka_tasks": tasks, "airflow": ModuleType("airflow"), "airflow.sdk": airflow, "dagster": dagster}
    for module, stand_in in stand_ins.items():
        patch.setitem(sys.modules, module, stand_in)
    return block(name)


def _plain(function: Callable[..., Any] | None = None, **_: object) -> Any:
    """Return the decorated function, for a decorator with or without arguments."""
    return function or (lambda decorated: decorated)
