"""Print the report of a command on several stacks on a terminal: each stack, then what differs, then a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from rich.console import Console
from rich.text import Text

from topicwarden.model.fleet_report import COULD_NOT_RUN, FleetReport, StackDifference, StackOutcome
from topicwarden.report.fleet.digest import TITLES, headline, omitted, sections, topic_names, value_of
from topicwarden.report.line_printer import LinePrinter

_MOST_ROWS: Final = 40
"""Number of differences of each kind that are printed."""
_MOST_TOPICS: Final = 3
_WIDEST: Final = 15
_NARROWEST: Final = 5
"""Columns of the values of one stack."""
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
            self._matrix(report.stacks, rows)
            if more:
                self._wrapped(self._text(omitted(more, "--format json")))
            self._print(Text())
        for outcome in report.stacks:
            self._outcome(outcome)
        self._wrapped(Text(headline(report), style="bold"))

    def _matrix(self, stacks: Sequence[StackOutcome], rows: Sequence[StackDifference]) -> None:
        value = max(_NARROWEST, min(_WIDEST, self._width * 3 // 5 // len(stacks) - 1))
        widths = [max(_NARROWEST, self._width - len(stacks) * (value + 1)), *(value for _ in stacks)]
        self._row([Text(), *(self._text(outcome.stack, "bold") for outcome in stacks)], widths)
        for row in rows:
            self._row([self._text(row.name), *(self._text(value_of(row, outcome)) for outcome in stacks)], widths)
            self._wrapped(Text("  ") + self._text(topic_names(row, _MOST_TOPICS), "dim"))

    def _row(self, cells: Sequence[Text], widths: Sequence[int]) -> None:
        """Print the cells side by side, each on as many lines as it needs, without white space at the end of a line."""
        columns = [cell.wrap(self._console, width) for cell, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*columns):
            line = Text()
            for part, width in zip(parts, widths, strict=True):
                shown = part or Text()
                line += shown
                line.pad_right(width - shown.cell_len + 1)
            self._print(line)

    def _outcome(self, outcome: StackOutcome) -> None:
        mark = self._text(f"{_SYMBOLS[outcome.exit_code]} {outcome.stack}:", _STYLES[outcome.exit_code])
        reason = "" if outcome.ran else "could not run: "
        self._wrapped(Text(" ").join([mark, self._text(f"{reason}{outcome.summary}")]))
