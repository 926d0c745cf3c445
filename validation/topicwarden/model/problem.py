"""Problems in the project's YAML, each with the location of the value, and the errors that end a command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from topicwarden.model.message_text import and_others, counted


class Level(StrEnum):
    """The level of a problem. An error leads to exit code 1, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, order=True)
class Location:
    """A position in a file: the path as printed, and line and column, both counted from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, order=True)
class Problem:
    """An invalid or forbidden value in a file, with the id of the rule that reports it.

    ``default`` is the setting that repairs the problem for all topics of a folder, if its ``_defaults.yaml`` has it.
    """

    location: Location
    message: str
    rule: str
    level: Level = Level.ERROR
    default: str = ""

    def __str__(self) -> str:
        prefix = "warning: " if self.level is Level.WARNING else ""
        return f"{self.location}: {prefix}{self.line} [{self.rule}]"

    @property
    def line(self) -> str:
        """The message on one line. Messages from policy files may have several lines."""
        return " ".join(part.strip() for part in self.message.splitlines())


MOST_PROBLEMS: Final = 100
"""The most errors, and the most warnings, of one file that are reported."""


def limited(problems: Iterable[Problem]) -> list[Problem]:
    """Return the first errors and warnings of each file, at most ``MOST_PROBLEMS`` of each, and say where more exist.

    The order stays.
    """
    seen: Counter[tuple[str, Level]] = Counter()
    kept: list[Problem] = []
    for problem in problems:
        key = (problem.location.file, problem.level)
        seen[key] += 1
        if seen[key] <= MOST_PROBLEMS:
            kept.append(problem)
        elif seen[key] == MOST_PROBLEMS + 1:
            message = f"there are more {problem.level.value}s than these {MOST_PROBLEMS}; correct them, and check again"
            kept.append(Problem(problem.location, message, "problems-more", problem.level))
    return kept


class Refusal(Exception):
    """A command cannot run because of its environment or its arguments; the message says what to do.

    The command line prints the message and ends with exit code 2, as the programs in ``toolchain`` do. Other code
    catches this error only to pass it to Pulumi, to add to its message, to repeat or leave out a part, or to use a
    default. ``details`` are further lines, such as the output of a program. The command line writes them to a log file
    and names the file.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


class InvalidDeclarations(Refusal):
    """The files of the project have errors, and ``what`` is the consequence. `plan` and `up` end with exit code 1.

    ``problems`` are all errors, and ``summary`` is a line with their number. The message has the first one.
    """

    def __init__(self, what: str, problems: Sequence[Problem], remedy: str) -> None:
        super().__init__(f"{what}: {problems[0]}{and_others(len(problems) - 1)}; {remedy}")
        self.problems = tuple(problems)
        self.summary = f"{what}: {counted(len(problems), 'error')}; {remedy}"


_EXTRAS: Final = {
    **dict.fromkeys(("pyspark", "py4j"), "audit"),
    **dict.fromkeys(("pulumi", "pulumi_kafka", "pulumi_policy", "grpc", "google"), "deploy"),
    **dict.fromkeys(("kafka", "cramjam", "cryptography", "javaproperties", "urllib3", "waitress"), "cluster"),
}
"""The extra of this package that installs a module."""


class MissingExtra(Refusal, ModuleNotFoundError):
    """An operation needs an extra that is not installed. The message has the command that installs it.

    ``extra`` is its name, and ``name`` the name of the missing module.
    """

    def __init__(self, module: str, extra: str) -> None:
        package = "pyspark" if extra == "audit" else module  # whichever of its modules is imported first
        super().__init__(f"the Python package {package} is not installed: `pip install 'topicwarden[{extra}]'`")
        self.name, self.extra = module, extra


def missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """Return the extra that would install the module of ``error``; None if no extra does."""
    module = (error.name or "").partition(".")[0]
    extra = _EXTRAS.get(module)
    return None if extra is None else MissingExtra(module, extra)
