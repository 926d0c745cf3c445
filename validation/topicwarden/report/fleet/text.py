"""Print the report of a command on several stacks on a terminal: each stack, then what differs, then a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from topicwarden.model.fleet_report import COULD_NOT_RUN, FleetReport, StackDifference, StackOutcome
from topicwarden.report.fixed_width_table import FixedWidthTable
from topicwarden.report.fleet.digest import TITLES, headline, omitted, sections, topic_names, value_of
from topicwarden.report.line_printer import LinePrinter

_MOST_ROWS: Final = 40
"""Number of differences of each kind that are printed."""
_MOST_TOPICS: Final = 3
_INDENT: Final = 2
_LABEL: Final = 10
_ASCII: Final = str.maketrans({"–": "-", "×": "x", "✓": "+", "✗": "x", "…": "~", "·": "-"})
_STYLES: Final = {0: "green", 3: "cyan", 1: "red", COULD_NOT_RUN: "bold red"}
_SYMBOLS: Final = {0: "✓", 3: "·", 1: "✗", COULD_NOT_RUN: "?"}


def render(report: FleetReport, parts: Mapping[str, str], console: Console) -> None:
    """Print ``parts``, the reports by stack; then what differs between the stacks, and one line for each stack.

    What is printed besides ``parts`` has the width of ``console``: 80 columns if it is not a terminal.
    """
    _FleetPrinter(console).print(report, parts)


class _FleetPrinter(LinePrinter):
    def __init__(self, console: Console) -> None:
        super().__init__(console, console.width, _LABEL, _ASCII, ascii_only=console.options.ascii_only)

    def print(self, report: FleetReport, parts: Mapping[str, str]) -> None:
        for outcome in report.stacks:
            if outcome.stack in parts:
                self._print(self._text(f"=== stack {outcome.stack}", "bold"))
                self._console.out(parts[outcome.stack].rstrip("\n"), highlight=False)
                self._print(Text())
        for kind, rows, more in sections(report, _MOST_ROWS):
            self._print(Text(f"=== {TITLES[kind].lower()}", style="bold"))
            table = self._table(report.stacks, rows)
            self._console.print(FixedWidthTable(table, self._width), crop=False, highlight=False)
            if more:
                self._wrapped(self._text(omitted(more, "--format json")))
            self._print(Text())
        for outcome in report.stacks:
            self._outcome(outcome)
        self._wrapped(Text(headline(report), style="bold"))

    def _table(self, stacks: Sequence[StackOutcome], rows: Sequence[StackDifference]) -> Table:
        table = Table(box=None, expand=True, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("", ratio=2, overflow="fold")
        for outcome in stacks:
            table.add_column(self._text(outcome.stack), ratio=1, overflow="fold")
        for row in rows:
            topics = Padding(self._text(topic_names(row, _MOST_TOPICS), "dim"), (0, 0, 0, _INDENT))
            values = (self._text(value_of(row, outcome)) for outcome in stacks)
            table.add_row(Group(self._text(row.name), topics), *values)
        return table

    def _outcome(self, outcome: StackOutcome) -> None:
        mark = self._text(f"{_SYMBOLS[outcome.exit_code]} {outcome.stack}:", _STYLES[outcome.exit_code])
        reason = "" if outcome.ran else "could not run: "
        self._wrapped(Text(" ").join([mark, self._text(f"{reason}{outcome.summary}")]))
