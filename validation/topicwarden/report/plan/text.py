"""Write a plan for a terminal."""

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
from topicwarden.report.plan.digest import SYMBOLS, allowance_text, digest
from topicwarden.report.plan.tables import PlanTable

_STYLES: Final = {Severity.REFUSED: "bold red", Severity.DANGER: "yellow", Severity.NOTE: "cyan", None: "green"}
_PIPED_WIDTH: Final = 120
_INDENT: Final = 4
_LABEL: Final = 10
_ASCII: Final = str.maketrans({"–": "-", "→": ">", "✓": "+", "✗": "x", "·": "-", "…": "~"})


def render(report: PlanReport, console: Console | None = None) -> str:
    """Return the changed topics (the most severe first), the consequences for each, and a summary line.

    Width, colours and encoding are those of ``console``. Without ``console``, or if it is not a terminal, the text
    has at least 120 columns and no colours.
    """
    return _PlanRenderer(console or Console(file=io.StringIO(), force_terminal=False)).render(report)


class _PlanRenderer:
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

    def render(self, report: PlanReport) -> str:
        view = digest(report)
        with self._out.capture() as body_capture:
            for error in report.engine.errors:
                self._wrapped(Text(" ").join([Text("pulumi", style="bold red"), self._text(error)]))
            for topic in view.topics:
                self._topic(topic)
            for line in report.unseen:
                self._wrapped(Text(" ").join([Text("not visible", style="yellow"), self._text(line)]))
            for line in report.remarks:
                self._wrapped(Text(" ").join([Text("remark", style="yellow"), self._text(line)]))
            for each in report.allowances:
                location = f" ({each.location})" if each.location else ""
                self._wrapped(
                    Text(" ").join([Text("allowed", style="yellow"), self._text(allowance_text(each) + location)])
                )
        with self._out.capture() as summary_capture:
            self._print(self._text(view.summary, "bold"))
        body = body_capture.get().rstrip("\n")
        return f"{body}\n\n{summary_capture.get()}" if body else summary_capture.get()

    def _topic(self, topic: TopicPlan) -> None:
        style, table = _STYLES[topic.severity], tables.settings(topic)
        head = Text(" ").join([self._text(SYMBOLS[topic.severity], style), Text(topic.action.value, style=style)])
        head = head + Text(" ") + self._text(topic.topic, "bold")
        if not topic.consequences and (table is None or len(table.headings) == 2):
            # Without a comparison, one line per topic is easier to read, as in the first deploy of many topics.
            values = ", ".join(f"{name} {value}" for name, value in table.rows) if table else ""
            self._wrapped(head + self._text(f": {values}", "dim") if values else head)
            return
        self._wrapped(head)
        if table:
            self._table(table)
        for consequence in topic.consequences:
            self._consequence(consequence, topic)
        if topic.location and not any(consequence.location for consequence in topic.consequences):
            self._location(str(topic.location))
        self._print(Text())

    def _consequence(self, consequence: Consequence, topic: TopicPlan) -> None:
        word = Text(f"  {consequence.severity.value}", style=_STYLES[consequence.severity])
        subject = self._text(f"{consequence.kind} {topic.topic}:", "bold")
        self._wrapped(Text(" ").join([word, subject, self._text(consequence.message)]))
        for reason in consequence.because:
            self._labelled("because", reason)
        if consequence.measured:
            self._labelled("measured", consequence.measured)
        if consequence.remedy:
            self._labelled("remedy", consequence.remedy)
        if consequence.location:
            self._location(str(consequence.location))
        for table in (tables.partitions(consequence), tables.groups(consequence)):
            if table:
                self._table(table)

    def _table(self, table: PlanTable) -> None:
        rows = [[self._text(cell) for cell in row] for row in table.rows]
        heads = [Text(heading, style="dim") for heading in table.headings]
        widths = _column_widths([heads, *rows], self._width - _INDENT)
        for row in (heads, *rows):
            line = Text(" " * _INDENT)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
                cell.align("right" if number in table.numbers else "left", width)
                line = line + cell + Text("  ")
            self._print(line)
        if table.omitted:
            self._print(Text(" " * _INDENT + table.omitted, style="dim"))

    def _location(self, location: str) -> None:
        # Not wrapped, so that editors and terminals can open it.
        self._print(self._label("declared") + self._text(location, "cyan"))

    def _wrapped(self, line: Text) -> None:
        first, *rest = line.wrap(self._out, self._width - _INDENT)
        self._print(first)
        for continuation in rest:
            self._print(Text(" " * _INDENT) + continuation)

    def _labelled(self, label: str, text: str) -> None:
        for number, line in enumerate(self._text(text).wrap(self._out, self._width - _INDENT - _LABEL)):
            self._print(self._label("" if number else label) + line)

    def _label(self, label: str) -> Text:
        return Text(" " * _INDENT + label.ljust(_LABEL), style="dim")

    def _print(self, line: Text) -> None:
        line.rstrip()
        self._out.print(line, soft_wrap=True, highlight=False)

    def _text(self, text: str, style: str = "") -> Text:
        shown = display.one_line(text)
        return Text(shown.translate(_ASCII) if self._ascii else shown, style=style)


def _column_widths(rows: Sequence[Sequence[Text]], width: int) -> list[int]:
    """Return the widths of the columns. The widest columns shrink until a row fits into ``width``."""
    widths = [max(cell_len(cell.plain) for cell in column) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths
