"""A plan on a terminal, for the person who is about to deploy."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from topicwarden.model.planned_change import Consequence, PlanReport, Severity, TopicPlan
from topicwarden.report import display
from topicwarden.report.plan import tables
from topicwarden.report.plan.digest import SYMBOLS, allowance, digest
from topicwarden.report.plan.tables import PlanTable

_STYLES: Final = {Severity.REFUSED: "bold red", Severity.DANGER: "yellow", Severity.NOTE: "cyan", None: "green"}
_PIPED_WIDTH: Final = 120
_INDENT: Final = 4
_LABEL: Final = 10
_ASCII: Final = str.maketrans({"–": "-", "→": ">", "✓": "+", "✗": "x", "·": "-", "…": "~"})


def render(report: PlanReport, console: Console | None = None) -> str:
    """The topics that change (the weightiest first), what follows for each, and a summary line.

    Takes width, colours and encoding from ``console``, which may write to a terminal; without one, or into a pipe,
    there are at least 120 columns and no colours.
    """
    return _Page(console or Console(file=io.StringIO(), force_terminal=False)).draw(report)


class _Page:
    def __init__(self, console: Console) -> None:
        piped = not console.is_terminal
        self._width = max(console.width, _PIPED_WIDTH) if piped else console.width
        self._ascii = console.options.ascii_only
        self._out = Console(
            file=io.StringIO(),
            width=self._width,
            force_terminal=not piped,
            color_system=None if piped or console.no_color else "standard",
        )

    def draw(self, report: PlanReport) -> str:
        view = digest(report)
        with self._out.capture() as drawn:
            for error in report.engine.errors:
                self._hang(Text(" ").join([Text("pulumi", style="bold red"), self._text(error)]))
            for topic in view.topics:
                self._topic(topic)
            for line in report.unseen:
                self._hang(Text(" ").join([Text("not seen", style="yellow"), self._text(line)]))
            for line in report.remarks:
                self._hang(Text(" ").join([Text("remark", style="yellow"), self._text(line)]))
            for each in report.allowances:
                place = f" ({each.place})" if each.place else ""
                self._hang(Text(" ").join([Text("allowed", style="yellow"), self._text(allowance(each) + place)]))
        with self._out.capture() as summary:
            self._put(self._text(view.summary, "bold"))
        body = drawn.get().rstrip("\n")
        return f"{body}\n\n{summary.get()}" if body else summary.get()

    def _topic(self, topic: TopicPlan) -> None:
        style, grid = _STYLES[topic.weight], tables.settings(topic)
        head = Text(" ").join([self._text(SYMBOLS[topic.weight], style), Text(topic.action.value, style=style)])
        head = head + Text(" ") + self._text(topic.topic, "bold")
        if not topic.consequences and (grid is None or len(grid.headings) == 2):
            # One column compares nothing: a first deploy of many topics reads best a line a topic.
            values = ", ".join(f"{name} {value}" for name, value in grid.rows) if grid else ""
            self._hang(head + self._text(f": {values}", "dim") if values else head)
            return
        self._hang(head)
        if grid:
            self._grid(grid)
        for consequence in topic.consequences:
            self._consequence(consequence, topic)
        if topic.place and not any(consequence.place for consequence in topic.consequences):
            self._place(str(topic.place))
        self._put(Text())

    def _consequence(self, consequence: Consequence, topic: TopicPlan) -> None:
        word = Text(f"  {consequence.weight.value}", style=_STYLES[consequence.weight])
        subject = self._text(f"{consequence.kind} {topic.topic}:", "bold")
        self._hang(Text(" ").join([word, subject, self._text(consequence.message)]))
        for reason in consequence.because:
            self._labelled("because", reason)
        if consequence.measured:
            self._labelled("measured", consequence.measured)
        if consequence.remedy:
            self._labelled("remedy", consequence.remedy)
        if consequence.place:
            self._place(str(consequence.place))
        for grid in (tables.partitions(consequence), tables.groups(consequence)):
            if grid:
                self._grid(grid)

    def _grid(self, grid: PlanTable) -> None:
        rows = [[self._text(cell) for cell in row] for row in grid.rows]
        heads = [Text(heading, style="dim") for heading in grid.headings]
        widths = _fitting([heads, *rows], self._width - _INDENT)
        for row in (heads, *rows):
            line = Text(" " * _INDENT)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
                cell.align("right" if number in grid.numbers else "left", width)
                line = line + cell + Text("  ")
            self._put(line)
        if grid.more:
            self._put(Text(" " * _INDENT + grid.more, style="dim"))

    def _place(self, place: str) -> None:
        # Left whole, so that editors and terminals can open it.
        self._put(self._label("declared") + self._text(place, "cyan"))

    def _hang(self, line: Text) -> None:
        first, *rest = line.wrap(self._out, self._width - _INDENT)
        self._put(first)
        for more in rest:
            self._put(Text(" " * _INDENT) + more)

    def _labelled(self, label: str, text: str) -> None:
        for number, line in enumerate(self._text(text).wrap(self._out, self._width - _INDENT - _LABEL)):
            self._put(self._label("" if number else label) + line)

    def _label(self, label: str) -> Text:
        return Text(" " * _INDENT + label.ljust(_LABEL), style="dim")

    def _put(self, line: Text) -> None:
        line.rstrip()
        self._out.print(line, soft_wrap=True, highlight=False)

    def _text(self, text: str, style: str = "") -> Text:
        shown = display.one_line(text)
        return Text(shown.translate(_ASCII) if self._ascii else shown, style=style)


def _fitting(rows: Sequence[Sequence[Text]], room: int) -> list[int]:
    """The columns' widths; the widest ones give way until a row fits into ``room``."""
    widths = [max(cell_len(cell.plain) for cell in column) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths
