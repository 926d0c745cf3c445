"""A report on a terminal, for the engineer on call."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from topicwarden.model.finding import AuditReport, Finding, SettledFinding
from topicwarden.model.verdict import Verdict
from topicwarden.report import display
from topicwarden.report.audit.digest import SYMBOLS, AuditDigest, TopicDigest, digest, time_span

STYLES = {Verdict.FAIL: "bold red", Verdict.SUSPECT: "yellow", Verdict.UNDECIDABLE: "magenta", Verdict.PASS: "green"}

# rich takes 80 columns where it cannot ask; a log or a file has room for more.
_PIPED_WIDTH = 120
_ROOMY = 130
_INDENT = 4
_LABEL = 10
_ASCII = str.maketrans({"–": "-", "×": "x", "✓": "+", "✗": "x"})


def render(report: AuditReport, console: Console) -> None:
    """Prints the topics, what was found on them (worst first), what became of the last audit's suspects,
    what limits this audit, and a summary line.

    A console that is no terminal gets at least 120 columns.
    """
    _Page(console).print(digest(report))


class _Page:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = console.width if console.is_terminal else max(console.width, _PIPED_WIDTH)
        self._ascii = console.options.ascii_only

    def print(self, view: AuditDigest) -> None:
        if any(topic.facts for topic in view.topics):
            self._console.print(_Wide(self._table(view), self._width), crop=False, highlight=False)
        for topic in view.topics:
            for finding in (*topic.findings, *topic.notes):
                self._put(Text())
                self._finding(finding)
        if view.settled:
            self._put(Text())
        for settled in view.settled:
            self._settled(settled)
        if view.limits:
            self._put(Text())
        for limit in view.limits:
            self._hang(Text(" ").join([Text("limit", style="yellow"), self._text(limit)]))
        self._put(Text())
        self._put(Text(view.summary, style="bold"))

    def _table(self, view: AuditDigest) -> Table:
        roomy = self._width >= _ROOMY
        table = Table(box=box.SIMPLE_HEAD, expand=True, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("verdict", no_wrap=True)
        table.add_column("topic", ratio=1, overflow="fold")
        for heading in ("parts", "records", *(("payload", "on disk") if roomy else ("size",))):
            table.add_column(heading, justify="right", no_wrap=True)
        if roomy:
            table.add_column("from – to (UTC)", no_wrap=True)
        table.add_column("skew", justify="right", no_wrap=True)
        for topic in view.topics:
            if topic.facts is not None:
                table.add_row(*self._row(topic, roomy))
        return table

    def _row(self, topic: TopicDigest, roomy: bool) -> list[Text]:
        facts = topic.facts
        assert facts is not None
        span = display.span(*time_span(facts), days=self._width < 100)
        lines = [self._text(topic.name)]
        if topic.standing:
            lines.append(self._text(topic.standing, "yellow"))
        if not roomy and facts.records:
            lines.append(self._text(span, "dim"))
        payload = display.size(facts.payload_bytes) if facts.partitions else display.NOTHING
        sizes = [payload, display.size(facts.log_bytes)]
        if not roomy:
            sizes = [payload if facts.log_bytes is None else sizes[1]]
        style = STYLES[topic.verdict]
        return [
            self._text(f"{SYMBOLS[topic.verdict]} {topic.verdict.value}", style),
            Text("\n").join(lines),
            self._text(display.count(len(facts.partitions) or None)),
            self._text(display.count(facts.records) if facts.partitions else display.NOTHING),
            *(self._text(size) for size in sizes),
            *([self._text(span)] if roomy else []),
            self._text(display.times(facts.skew)),
        ]

    def _finding(self, finding: Finding) -> None:
        note = finding.verdict is Verdict.PASS
        word = Text("note" if note else finding.verdict.value, style=STYLES[finding.verdict])
        where = f" [{display.numbers(finding.partitions)}]" if finding.partitions else ""
        subject = self._text(f"{finding.check} {finding.topic}{where}:", "bold")
        self._hang(Text(" ").join([word, subject, self._text(finding.message or "no message")]))
        for reason in finding.because:
            self._labelled("because", self._text(reason))
        if finding.evidence:
            shown = (f"{name} = {display.evidence(name, value)}" for name, value in finding.evidence.items())
            self._labelled("evidence", self._text("; ".join(shown), "dim"))
        if finding.remedy:
            self._labelled("remedy", self._text(finding.remedy))
        if finding.place:
            # Left whole, so that editors and terminals can open it.
            self._put(
                Text(" " * _INDENT + "declared".ljust(_LABEL), style="dim") + self._text(str(finding.place), "cyan")
            )

    def _settled(self, one: SettledFinding) -> None:
        where = f" [{display.numbers(one.partitions)}]" if one.partitions else ""
        since = f"was {one.was.value} at {display.moment(one.since)}: {one.why}"
        subject = self._text(f"{one.check} {one.topic}{where}:", "bold")
        self._hang(Text(" ").join([Text(f"now {one.now.value}", style=STYLES[one.now]), subject, self._text(since)]))

    def _hang(self, line: Text) -> None:
        first, *rest = line.wrap(self._console, self._width - _INDENT)
        self._put(first)
        for more in rest:
            self._put(Text(" " * _INDENT) + more)

    def _labelled(self, label: str, text: Text) -> None:
        lines = text.wrap(self._console, self._width - _INDENT - _LABEL)
        for number, line in enumerate(lines):
            margin = label if number == 0 else ""
            self._put(Text(" " * _INDENT + margin.ljust(_LABEL), style="dim") + line)

    def _put(self, line: Text) -> None:
        line.rstrip()
        self._console.print(line, soft_wrap=True, highlight=False)

    def _text(self, text: str, style: str = "") -> Text:
        shown = display.one_line(text)
        if self._ascii:
            shown = shown.translate(_ASCII).encode("ascii", "backslashreplace").decode()
        return Text(shown, style=style)


@dataclass(frozen=True)
class _Wide:
    """A table at a width of its own: rich would cut it at that of the console."""

    table: Table
    width: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield from console.render(self.table, options.update(width=self.width))
