"""A table of rich with a width of its own."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table


@dataclass(frozen=True)
class FixedWidthTable:
    """A table with a fixed width. Otherwise rich cuts the table at the width of the console."""

    table: Table
    width: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.table, options.update(width=self.width))
