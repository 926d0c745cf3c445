"""Print an audit report on a terminal."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from topicwarden.model.finding import AuditReport, Finding, SettledFinding, TopicFacts
from topicwarden.model.message_text import counted
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display
from topicwarden.report.audit.digest import (
    NEXT_STEP,
    SYMBOLS,
    AuditDigest,
    TopicDigest,
    age_of,
    digest,
    time_span,
    urgency,
)
from topicwarden.report.fixed_width_table import FixedWidthTable
from topicwarden.report.line_printer import LinePrinter, width_of

STYLES = {Verdict.FAIL: "bold red", Verdict.SUSPECT: "yellow", Verdict.UNDECIDABLE: "magenta", Verdict.PASS: "green"}

_WIDE = 130
_LABEL = 10
_MAX_ROWS = 10
"""Number of passing topics, and of undeclared topics, that get a row each; more of them share one row."""
_MAX_PER_CHECK = 10
"""Number of findings, or of notes, that are printed for each check; the others are counted."""
_ASCII = str.maketrans({"–": "-", "×": "x", "✓": "+", "✗": "x"})


def render(report: AuditReport, console: Console) -> None:
    """Print the topics, the findings (the worst first), changes since the last audit, limits, and a summary line.

    If ``console`` is not a terminal, the text has at least 120 columns.
    """
    _ReportPrinter(console).print(digest(report))


class _ReportPrinter(LinePrinter):
    def __init__(self, console: Console) -> None:
        super().__init__(console, width_of(console), _LABEL, _ASCII, ascii_only=console.options.ascii_only)

    def print(self, view: AuditDigest) -> None:
        if any(topic.facts for topic in view.topics):
            self._console.print(FixedWidthTable(self._table(view), self._width), crop=False, highlight=False)
        self._findings(view)
        if view.settled:
            self._print(Text())
        for settled in view.settled:
            self._settled(settled)
        ended = [
            *((Text("resolved", style=STYLES[Verdict.PASS]), each) for each in view.report.resolved),
            *((Text("withdrawn", style=STYLES[Verdict.UNDECIDABLE]), each) for each in view.report.withdrawn),
        ]
        if ended:
            self._print(Text())
        for label, each in ended:
            subject = self._text(f"{each.check} {each.topic}:", "bold")
            since = self._text(f"was {each.verdict.value} since {display.timestamp(each.since)}")
            self._wrapped(Text(" ").join([label, subject, since]))
        if view.limits:
            self._print(Text())
        for limit in view.limits:
            self._wrapped(Text(" ").join([Text("limit", style="yellow"), self._prose(limit)]))
        self._print(Text())
        self._print(Text(view.summary, style="bold"))
        if view.next_step:
            self._wrapped(Text(" ").join([Text("next", style="bold"), self._text(NEXT_STEP)]))
            self._print(self._text(f"  {view.next_step}"))

    def _table(self, view: AuditDigest) -> Table:
        wide = self._width >= _WIDE
        table = Table(box=box.SIMPLE_HEAD, expand=True, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("verdict", no_wrap=True)
        table.add_column("topic", ratio=1, overflow="fold")
        for heading in ("partitions" if wide else "parts", "records", *(("payload", "on disk") if wide else ("size",))):
            table.add_column(heading, justify="right", no_wrap=True)
        if wide:
            table.add_column("timestamps (UTC)", no_wrap=True)
        table.add_column("skew", justify="right", no_wrap=True)
        for folded, topics in groupby((topic for topic in view.topics if topic.facts), _folded):
            rows = list(topics)
            if folded and len(rows) > _MAX_ROWS:
                facts = [topic.facts for topic in rows if topic.facts]
                table.add_row(*self._folded_row(rows[0].verdict, folded, facts, wide))
            else:
                for topic in rows:
                    table.add_row(*self._row(topic, wide))
        return table

    def _folded_row(self, verdict: Verdict, what: str, topics: list[TopicFacts], wide: bool) -> list[Text]:
        payload, log = (
            sum(size or 0 for size in sizes)
            for sizes in zip(*((t.payload_bytes, t.log_bytes) for t in topics), strict=True)
        )
        return [
            self._verdict(verdict),
            self._text(f"{counted(len(topics), 'topic')} that {what}", "dim"),
            self._text(display.count(sum(len(topic.partitions) for topic in topics))),
            self._text(display.count(sum(topic.records or 0 for topic in topics))),
            *(self._text(display.size(size)) for size in ((payload, log) if wide else (log,))),
            *([Text()] if wide else []),
            Text(),
        ]

    def _findings(self, view: AuditDigest) -> None:
        printed: Counter[tuple[Verdict, str]] = Counter()
        for finding in (finding for topic in view.topics for finding in (*topic.findings, *topic.notes)):
            kind = finding.verdict, finding.check
            printed[kind] += 1
            if printed[kind] <= _MAX_PER_CHECK:
                self._print(Text())
                self._finding(finding, view.report)
        for verdict, check in sorted(printed, key=lambda kind: (WORST_FIRST.index(kind[0]), urgency(kind[1]), kind[1])):
            if (more := printed[verdict, check] - _MAX_PER_CHECK) > 0:
                self._print(Text())
                findings = f"{more:,} more {'finding' if more == 1 else 'findings'}"
                what = self._text(f"{check}: {findings}; --format json and the files of --out have all", "bold")
                self._wrapped(Text(" ").join([self._word(verdict), what]))

    def _row(self, topic: TopicDigest, wide: bool) -> list[Text]:
        facts = topic.facts
        assert facts is not None
        span = display.span(*time_span(facts), days=self._width < 100)
        lines = [self._text(topic.name)]
        if topic.absence:
            lines.append(self._text(topic.absence, "yellow"))
        if not wide and facts.records:
            lines.append(self._text(span, "dim"))
        payload = display.size(facts.payload_bytes) if facts.partitions else display.NOTHING
        sizes = [payload, display.size(facts.log_bytes)]
        if not wide:
            sizes = [payload if facts.log_bytes is None else sizes[1]]
        return [
            self._verdict(topic.verdict),
            Text("\n").join(lines),
            self._text(display.count(len(facts.partitions) or None)),
            self._text(display.count(facts.records) if facts.partitions else display.NOTHING),
            *(self._text(size) for size in sizes),
            *([self._text(span)] if wide else []),
            self._text(display.multiple(facts.skew)),
        ]

    def _verdict(self, verdict: Verdict) -> Text:
        return self._text(f"{SYMBOLS[verdict]} {verdict.value}", STYLES[verdict])

    def _word(self, verdict: Verdict) -> Text:
        return Text("note" if verdict is Verdict.PASS else verdict.value, style=STYLES[verdict])

    def _finding(self, finding: Finding, report: AuditReport) -> None:
        partitions = f" [{display.ranges(finding.partitions)}]" if finding.partitions else ""
        subject = self._text(f"{finding.check} {finding.topic}{partitions}:", "bold")
        self._wrapped(
            Text(" ").join([self._word(finding.verdict), subject, self._prose(finding.message or "no message")])
        )
        if age := age_of(finding, report):
            self._labelled("seen", age)
        for reason in finding.because:
            self._labelled("because", reason)
        if finding.evidence:
            shown = (f"{name} = {display.evidence(name, value)}" for name, value in finding.evidence.items())
            self._labelled("evidence", "; ".join(shown), "dim")
        if finding.remedy:
            self._labelled("remedy", finding.remedy)
        if finding.location:
            self._located(str(finding.location))

    def _settled(self, settled: SettledFinding) -> None:
        partitions = f" [{display.ranges(settled.partitions)}]" if settled.partitions else ""
        since = f"was {settled.was.value} at {display.timestamp(settled.since)}: {settled.why}"
        subject = self._text(f"{settled.check} {settled.topic}{partitions}:", "bold")
        self._wrapped(
            Text(" ").join([Text(f"now {settled.now.value}", style=STYLES[settled.now]), subject, self._text(since)])
        )


def _folded(topic: TopicDigest) -> str:
    """Return what the row of many topics such as this one says; empty if each of them needs a row of its own."""
    if topic.only_undeclared:
        return "are on the cluster, but not declared"
    return "" if topic.findings else "passed all checks"
