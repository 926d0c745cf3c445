"""Tell what a command has changed when Ctrl-C or SIGTERM ends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from topicwarden.cli.failure import ended_by_signal
from topicwarden.cli.terminal import TERMINAL
from topicwarden.model.message_text import counted, first_of

_CHANGE: Final = re.compile(
    r"\s*(?:[-+~]{1,2})\s+(?P<type>\S+) (?P<name>\S+) (?:(?P<begun>creating|updating|deleting|replacing)|"
    r"(?P<made>created|updated|deleted|replaced))\b"
)
"""A line of `pulumi` about one resource."""
_GROUPS: Final = ("pulumi:", "topicwarden:index:")
"""The start of the types that only group others, such as the stack and the topics of a domain."""
_MOST_NAMES: Final = 5


@dataclass
class EngineChanges:
    """The changes that `pulumi` reports while it runs: those that it has made, and those that it has begun.

    ``titles`` says by name what a resource is, if its name is a hash.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    made: dict[str, None] = field(default_factory=dict)
    begun: dict[str, None] = field(default_factory=dict)

    def watching(self, show: Callable[[str], None]) -> Callable[[str], None]:
        """Return a function that takes each line of `pulumi`, and passes it to ``show``."""

        def on_line(line: str) -> None:
            if (change := _CHANGE.match(line)) and not change["type"].startswith(_GROUPS):
                name = self.titles.get(change["name"], change["name"])
                self.begun.pop(name, None)
                (self.made if change["made"] else self.begun)[name] = None
            show(line)

        return on_line

    def text(self) -> str:
        """Return what is done, what may be done, and what is not done."""
        if not self.made and not self.begun:
            return "Pulumi had not begun a change"
        made = f"{counted(len(self.made), 'change')} made"
        made += f" ({_listed(self.made)})" if self.made else ""
        begun = f"; begun and perhaps made: {_listed(self.begun)}" if self.begun else ""
        return f"{made}{begun}; no other change was begun"


@contextmanager
def telling_interrupts(
    command: str, stack: str, changes: EngineChanges | None = None, *, so_far: str = "nothing was changed"
) -> Iterator[None]:
    """If a signal ends the block, say what ``command`` has changed, and how to go on. ``so_far``: if no ``changes``."""
    try:
        yield
    except BaseException as error:
        if ended_by_signal(error) is not None:
            done = so_far if changes is None else changes.text()
            TERMINAL.warn(
                f"topicwarden: interrupted: {done}; `topicwarden plan --stack {stack}` shows what is left, and "
                f"`topicwarden {command} --stack {stack}` goes on"
            )
        raise


def _listed(names: dict[str, None]) -> str:
    return first_of(list(names), _MOST_NAMES)
