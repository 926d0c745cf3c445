"""Write a plan for a terminal."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from topicwarden.model.planned_change import (
    AccessPlan,
    Consequence,
    PlanReport,
    RegistryPlan,
    Severity,
    SubjectPlan,
    TopicPlan,
    most_severe,
    user_sentences,
)
from topicwarden.report.line_printer import INDENT, LinePrinter, width_of
from topicwarden.report.plan import tables
from topicwarden.report.plan.digest import (
    SYMBOLS,
    allowance_text,
    digest,
    foreign_text,
    item_text,
    principal_text,
)
from topicwarden.report.plan.tables import PlanTable

_STYLES: Final = {Severity.REFUSED: "bold red", Severity.DANGER: "yellow", Severity.NOTE: "cyan", None: "green"}
_DIFFERENCE_STYLES: Final = {"+": "green", "-": "red"}
_LABEL: Final = 10
_MOST_TOPICS: Final = 30
"""How many topics of one severity a terminal shows."""
_MOST_FOLDERS: Final = 8
_ASCII: Final = str.maketrans({"–": "-", "→": ">", "✓": "+", "✗": "x", "·": "-", "…": "~"})


def render(report: PlanReport, console: Console | None = None) -> str:
    """Return the changed topics (the most severe first), the consequences for each, and a summary line.

    Width, colours and encoding are those of ``console``. Without ``console``, or if it is not a terminal, the text
    has at least 120 columns and no colours. Only without ``console`` it has every topic: else, many topics of one
    severity are counted by action and folder.
    """
    renderer = _PlanRenderer(console or Console(file=io.StringIO(), force_terminal=False))
    return renderer.render(report, None if console is None else _MOST_TOPICS)


class _PlanRenderer(LinePrinter):
    def __init__(self, console: Console) -> None:
        piped, width = not console.is_terminal, width_of(console)
        out = Console(
            file=io.StringIO(),
            width=width,
            force_terminal=not piped,
            color_system=None if piped or console.no_color else "standard",
        )
        super().__init__(out, width, _LABEL, _ASCII, ascii_only=console.options.ascii_only)

    def render(self, report: PlanReport, most: int | None) -> str:
        """Return the text, with at most ``most`` topics of each severity."""
        view = digest(report)
        with self._console.capture() as body_capture:
            for error in report.engine.errors:
                self._wrapped(Text(" ").join([Text("pulumi", style="bold red"), self._text(error)]))
            for severity, topics in groupby(view.topics, key=lambda topic: topic.severity):
                of_severity = list(topics)
                for topic in of_severity[:most]:
                    self._topic(topic)
                if rest := of_severity[len(of_severity[:most]) :]:
                    self._more(severity, rest)
            if view.access:
                self._access(view.access)
            if view.registry:
                self._registry(view.registry)
            for line in report.unseen:
                self._wrapped(Text(" ").join([Text("not visible", style="yellow"), self._prose(line)]))
            for line in report.remarks:
                self._wrapped(Text(" ").join([Text("remark", style="yellow"), self._prose(line)]))
            for each in report.allowances:
                location = f" ({each.location})" if each.location else ""
                self._wrapped(
                    Text(" ").join([Text("allowed", style="yellow"), self._text(allowance_text(each) + location)])
                )
        with self._console.capture() as summary_capture:
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
            self._consequence(consequence, topic.topic)
        if topic.location and not any(consequence.location for consequence in topic.consequences):
            self._located(str(topic.location))
        self._print(Text())

    def _more(self, severity: Severity | None, topics: Sequence[TopicPlan]) -> None:
        """Print how many topics of a severity are not printed, by action and by folder."""
        actions = Counter(topic.action.value for topic in topics)
        folders = Counter(str(Path(topic.location.file).parent) if topic.location else "no file" for topic in topics)
        word = f" {severity.value}" if severity else ""
        self._wrapped(
            self._text(f"{SYMBOLS[severity]} {len(topics):,} more{word}: {_counts(actions)}", _STYLES[severity])
        )
        self._labelled("in", _counts(folders))
        self._labelled("all", "topicwarden plan --out FOLDER writes them to plan.txt and plan.json")
        self._print(Text())

    def _access(self, access: AccessPlan) -> None:
        style = _STYLES[access.severity]
        self._wrapped(self._text(SYMBOLS[access.severity], style) + Text(" ") + self._text("access", "bold"))
        for item in access.items:
            self._labelled(item.action.value, item_text(item))
        for principal in access.principals:
            self._labelled("effect", principal_text(principal))
        if foreign := foreign_text(access):
            self._labelled("others", foreign)
        for consequence in access.consequences:
            self._consequence(consequence, "")
        self._print(Text())

    def _registry(self, registry: RegistryPlan) -> None:
        for subject in registry.subjects:
            self._subject(subject)
        if registry.consequences:
            style = _STYLES[most_severe(registry.consequences)]
            symbol = SYMBOLS[most_severe(registry.consequences)]
            self._wrapped(self._text(symbol, style) + Text(" ") + self._text("Schema Registry", "bold"))
            for consequence in registry.consequences:
                self._consequence(consequence, "")
            self._print(Text())

    def _subject(self, subject: SubjectPlan) -> None:
        style, table = _STYLES[subject.severity], tables.settings(subject)
        head = Text(" ").join([self._text(SYMBOLS[subject.severity], style), Text(subject.action.value, style=style)])
        name = self._text(f"subject {subject.subject}", "bold")
        self._wrapped(Text(" ").join([head, name, self._text(f"({subject.format})", "dim")]))
        if table:
            self._table(table)
        for line in subject.difference:
            shown = self._verbatim(line, _DIFFERENCE_STYLES.get(line[:1], "dim"))
            shown.truncate(self._width - INDENT, overflow="ellipsis")
            self._print(Text(" " * INDENT) + shown)
        for consequence in subject.consequences:
            self._consequence(consequence, subject.subject)
        if subject.location and not any(consequence.location for consequence in subject.consequences):
            self._located(str(subject.location))
        self._print(Text())

    def _consequence(self, consequence: Consequence, name: str) -> None:
        word = Text(f"  {consequence.severity.value}", style=_STYLES[consequence.severity])
        subject = self._text(f"{consequence.kind} {name}".rstrip() + ":", "bold")
        self._wrapped(Text(" ").join([word, subject, self._prose(consequence.message)]))
        for reason in consequence.because:
            self._labelled("because", reason)
        for sentence in user_sentences(consequence.users):
            self._labelled("used", sentence)
        if consequence.measured:
            self._labelled("measured", consequence.measured)
        if consequence.remedy:
            self._labelled("remedy", consequence.remedy)
        if consequence.location:
            self._located(str(consequence.location))
        for table in (tables.partitions(consequence), tables.groups(consequence)):
            if table:
                self._table(table)

    def _table(self, table: PlanTable) -> None:
        rows = [[self._text(cell) for cell in row] for row in table.rows]
        heads = [Text(heading, style="dim") for heading in table.headings]
        widths = _column_widths([heads, *rows], self._width - INDENT)
        for row in (heads, *rows):
            line = Text(" " * INDENT)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True)):
                cell.align("right" if number in table.numbers else "left", width)
                line = line + cell + Text("  ")
            self._print(line)
        if table.omitted:
            self._print(Text(" " * INDENT + table.omitted, style="dim"))


def _counts(numbers: Counter[str]) -> str:
    """Return the names with their numbers, the most frequent first: ``90 create, 5 update``."""
    shown = [f"{number:,} {name}" for name, number in sorted(numbers.items(), key=lambda item: (-item[1], item[0]))]
    more = [f"{len(shown) - _MOST_FOLDERS:,} more"] if len(shown) > _MOST_FOLDERS else []
    return ", ".join([*shown[:_MOST_FOLDERS], *more])


def _column_widths(rows: Sequence[Sequence[Text]], width: int) -> list[int]:
    """Return the widths of the columns. The widest columns shrink until a row fits into ``width``."""
    widths = [max(cell_len(cell.plain) for cell in column) for column in zip(*rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths
