"""What everything that judges YAML hands on: a message, and the place where the value was written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a problem weighs: an error ends in exit code 1, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, order=True)
class Location:
    """A place in a file: its path as it is to be printed, line and column counted from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, order=True)
class Problem:
    """Something written that cannot be, or may not be, with the rule that says so."""

    location: Location
    message: str
    rule: str
    level: Level = Level.ERROR

    def __str__(self) -> str:
        weight = "warning: " if self.level is Level.WARNING else ""
        return f"{self.location}: {weight}{self.line} [{self.rule}]"

    @property
    def line(self) -> str:
        """The message on one line. A policy's own message may have several."""
        return " ".join(part.strip() for part in self.message.splitlines())


class Refusal(Exception):
    """The outside world, or the user, is not as it must be; the message says what to do.

    The command line prints the message and ends with exit code 2; nothing else catches it. ``details`` are further
    lines, such as the output of a program: the command line writes them to a log file and names the file.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details
