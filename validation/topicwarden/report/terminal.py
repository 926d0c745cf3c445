"""Write a document for a terminal: wrapped with an indent, with labels, in characters that the console can show."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from rich.console import Console
from rich.text import Span as StyledRange
from rich.text import Text

from topicwarden.report import display
from topicwarden.report import document as doc
from topicwarden.report.document import Document, Line, Role, Span, Tone, omitted, shortened

_INDENT: Final = 4
_LEAST_LABEL: Final = 10
_LEAST_TEXT: Final = 16
_LONGEST_WORD: Final = 10
_LEAST_NAME: Final = 8
_WIDE: Final = 130
_PIPED_WIDTH: Final = 120
"""The columns of text for a file or a pipe, for which rich assumes 80."""
ANY_WIDTH: Final = 100_000
"""The columns of a file whose lines have any length, so that programs find whole cells."""
_WIDEST: Final = 60
"""A longer cell, such as a description, does not widen its column in such a file."""
_LOCATION: Final = "declared"
"""The label of a line of YAML. It is not wrapped, so that editors and terminals can open it."""
_STYLES: Final = {
    Tone.FAIL: "bold red",
    Tone.SUSPECT: "yellow",
    Tone.UNDECIDABLE: "magenta",
    Tone.NOTE: "cyan",
    Tone.PASS: "green",
    Tone.NONE: "",
}
_DIFFERENCE_STYLES: Final = {"+": "green", "-": "red"}
_ASCII: Final = str.maketrans({"–": "-", "→": ">", "✓": "+", "✗": "x", "·": "-", "…": "~", "×": "x", "─": "-"})


def width_of(console: Console) -> int:
    """Return the number of columns of a report on ``console``.

    If it is not a terminal, these are the columns of the variable COLUMNS, or else at least 120.
    """
    chosen = console.is_terminal or os.environ.get("COLUMNS", "").isdigit()
    return console.width if chosen else max(console.width, _PIPED_WIDTH)


def write(document: Document, console: Console) -> None:
    """Print the blocks, the notes, and the summary as the last line, which is not wrapped, for grep."""
    lines = _TerminalWriter(document, console).lines()
    # One call, because each takes a millisecond.
    console.print(_joined(*(part for line in lines for part in (line, "\n"))), soft_wrap=True, highlight=False, end="")


def text(document: Document, width: int | None = None) -> str:
    """Return what ``write`` prints on a terminal of ``width`` columns, without colours; None for a file."""
    console = Console(
        file=io.StringIO(), width=width or _PIPED_WIDTH, force_terminal=width is not None, color_system=None
    )
    with console.capture() as captured:
        write(document, console)
    return captured.get()


class _TerminalWriter:
    def __init__(self, document: Document, console: Console) -> None:
        self._document, self._console, self._width = document, console, width_of(console)
        self._ascii, self._styled = console.options.ascii_only, console.color_system is not None
        widths = [_LEAST_LABEL, *(len(label) + 2 for label in _labels(document.blocks))]
        self._label_width = min(max(widths), max(_LEAST_LABEL, self._width // 3))

    def lines(self) -> Iterator[Text]:
        document = self._document
        groups = [*self._groups(document.blocks)]
        groups += [[each for note in document.notes for each in self._note(note.word, note.text)]]
        groups += [[self._shown(document.summary, "bold")] if document.summary else []]
        first = True
        for group in filter(None, groups):
            if not first:
                yield Text()
            first = False
            for each in group:
                each.rstrip()
                yield each
        if document.next_command:
            yield from self._wrapped([Text("next ", style="bold"), self._shown(document.next_step, "")])
            yield _joined("  ", self._shown(document.next_command, ""))

    def _note(self, word: str, text: Line) -> list[Text]:
        return self._wrapped([self._shown(word, "yellow"), " ", self._inline(text)])

    def _groups(self, blocks: Sequence[doc.Block]) -> Iterator[list[Text]]:
        """Yield the lines of blocks, with an empty line between blocks except adjacent paragraphs."""
        tight: list[Text] = []
        for block in blocks:
            if isinstance(block, doc.Paragraph) or (isinstance(block, doc.Details) and not block.blocks):
                tight += self._block(block)
                continue
            if tight:
                yield tight
                tight = []
            if isinstance(block, doc.Many):
                shown, more = shortened(block.blocks, block.most)
                yield from self._groups(shown)
                yield self._omitted(more, block.noun, block.what)
            elif isinstance(block, doc.DocumentSection) and not block.compact:
                groups = [*self._groups(block.blocks)]
                title = [self._title(block)] if block.titled else []
                yield [*title, *(groups[0] if groups else [])]
                yield from groups[1:]
            else:
                yield self._block(block)
        yield tight

    def _title(self, section: doc.DocumentSection) -> Text:
        return self._inline(section.heading) if section.heading else self._shown(f"=== {section.title.lower()}", "bold")

    def _omitted(self, number: int, noun: str, what: str = "", rest: str = "") -> list[Text]:
        text = omitted(number, noun, self._document.complete, what, rest) if number else ""
        return self._wrapped([self._inline((Span(text, Role.PROSE),), "dim")]) if number else []

    def _block(self, block: doc.Block, depth: int = 0) -> list[Text]:  # noqa: PLR0911 -- one for each kind
        match block:
            case doc.Paragraph():
                return self._wrapped([self._inline(block.text)])
            case doc.FactList():
                return [each for fact in block.facts for each in self._fact(fact)]
            case doc.Table():
                return self._table(block, depth)
            case doc.FindingBlock():
                return self._finding(block, depth)
            case doc.Details():
                head = self._wrapped([self._inline(block.summary)])
                return head + [each for inner in block.blocks for each in self._block(inner, depth + 1)]
            case doc.DiffBlock():
                return [*map(self._difference, block.lines)]
            case doc.DocumentSection():
                title = [self._title(block)] if block.titled else []
                return title + [each for inner in block.blocks for each in self._block(inner, int(block.titled))]
            case doc.Many():
                shown, more = shortened(block.blocks, block.most)
                rest = self._omitted(more, block.noun, block.what)
                return [each for inner in shown for each in self._block(inner, depth)] + rest
            case doc.Plot():
                return []

    def _finding(self, finding: doc.FindingBlock, depth: int) -> list[Text]:
        word = self._shown(finding.word, _STYLES[finding.tone])
        subject = self._inline(finding.subject, "bold")
        partitions = f" [{finding.where[0]}]" if finding.where and finding.where[0] else ""
        head: list[Text | str] = ["  " * depth, word, " ", subject, self._shown(f"{partitions}: ", "bold")]
        lines = self._wrapped([*head, self._inline((Span(finding.message, Role.PROSE),))])
        lines += [each for fact in finding.facts for each in self._fact(fact)]
        return lines + [each for table in finding.tables for each in self._table(table, depth + 1)]

    def _fact(self, fact: doc.LabelledValues) -> Iterator[Text]:
        if not fact.values:
            return
        values = fact.values
        if fact.joined:
            separated = [(Span("; "), *value) if number else value for number, value in enumerate(values)]
            values = (tuple(span for value in separated for span in value),)
        for value in values:
            shown = self._inline(value)
            if len(fact.label) > self._label_width - 2:
                shown = _joined(Text(f"{fact.label}  ", style="dim"), shown)
            if fact.label == _LOCATION:
                yield _joined(self._label(fact.label), shown)
                continue
            width = max(self._width - _INDENT - self._label_width, _LEAST_TEXT)
            for number, each in enumerate(self._fitted(shown, width)):
                label = "" if number or len(fact.label) > self._label_width - 2 else fact.label
                yield _joined(self._label(label), each)

    def _label(self, label: str) -> Text:
        return Text(" " * _INDENT + label.ljust(self._label_width), style="dim")

    def _difference(self, text: str) -> Text:
        verbatim = display.printable(text).expandtabs(4).replace("\n", " ").replace("\r", " ")
        style = _DIFFERENCE_STYLES.get(text[:1], "dim")
        shown = self._encoded(verbatim, style)
        shown.truncate(self._width - _INDENT, overflow="ellipsis")
        return _joined(" " * _INDENT, self._encoded(shown.plain, style))

    def _table(self, table: doc.Table, depth: int) -> list[Text]:
        wide = self._width >= _WIDE
        shown, more = shortened(table.rows, table.most)
        numbered = [*enumerate(table.columns)]
        columns = [(number, each) for number, each in numbered if (wide if each.wide else not each.below)]
        below = [number for number, each in numbered if each.below and not (wide and each.wide)]
        margin = _INDENT * (depth > 0)
        titles = (each.title.lower() if each.title[1:].islower() else each.title for _, each in columns)
        heads = [self._shown(title, "dim" if depth else "bold") for title in titles]
        rows = [[self._inline(row.cells[number]) for number, _ in columns] for row in shown]
        measured = [heads, *rows] if table.headed else rows
        widths = _column_widths(measured, [each for _, each in columns], self._width - margin)
        start = next((sum(widths[:n]) + 2 * n for n, (_, each) in enumerate(columns) if each.kind == "name"), 0)
        lines = [self._shown(table.caption, "bold")] if table.titled else []
        if table.headed:
            lines += self._row(heads, widths, columns, margin)
            lines += [] if depth else [self._shown("─" * (sum(widths) + 2 * (len(widths) - 1)), "")]
        for row, cells in zip(shown, rows, strict=True):
            lines += self._row(cells, widths, columns, margin)
            for number in below:
                if row.cells[number]:
                    column = table.columns[number]
                    title = self._shown(f"{column.title}: ", "dim") if column.wide else ""
                    cell = self._inline(row.cells[number], "dim")
                    lines += self._wrapped([" " * (margin + (start or 2)), title, cell])
        return lines + [_joined(" " * margin, each) for each in self._omitted(more, table.noun, rest=table.rest)]

    def _row(
        self, cells: Sequence[Text], widths: Sequence[int], columns: Sequence[tuple[int, doc.Column]], margin: int
    ) -> Iterator[Text]:
        """Yield the cells side by side, each on as many lines as it needs."""
        wrapped = [self._fitted(cell, width) for cell, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*wrapped):
            shown: list[str | Text] = [" " * margin]
            for part, width, (_, column) in zip(parts, widths, columns, strict=True):
                cell = part or Text()
                padding = " " * (width - cell.cell_len)
                shown += (padding, cell, "  ") if column.kind == "number" else (cell, padding, "  ")
            yield _joined(*shown)

    def _wrapped(self, parts: Sequence[Text | str]) -> list[Text]:
        first, *rest = self._fitted(_joined(*parts), self._width - _INDENT)
        return [first, *(_joined(" " * _INDENT, continuation) for continuation in rest)]

    def _fitted(self, text: Text, width: int) -> Sequence[Text]:
        """Return the text on as many lines of ``width`` columns as it needs."""
        fits = text.cell_len <= width or self._width == ANY_WIDTH
        return [text] if fits else list(text.wrap(self._console, width))

    def _inline(self, text: Line, style: str = "") -> Text:
        shown: list[Text] = []
        for span in text:
            if span.role is Role.PROSE:
                shown += (
                    self._shown(part, f"{style} bold".strip() if is_code else style)
                    for part, is_code in display.code_spans(span.text)
                )
            elif span.role is not Role.DRAWING:
                of_role = {Role.STRONG: "bold", Role.MUTED: "dim"}.get(span.role, "")
                shown.append(self._shown(span.text, f"{style} {_STYLES[span.tone] or of_role}".strip()))
        return shown[0] if len(shown) == 1 else _joined(*shown)

    def _shown(self, text: str, style: str) -> Text:
        """Return a text on one line, with its control characters escaped."""
        return self._encoded(display.squeezed(text), style)

    def _encoded(self, shown: str, style: str) -> Text:
        if self._ascii:
            shown = shown.translate(_ASCII).encode("ascii", "backslashreplace").decode()
        return Text(shown, style=style if self._styled else "")


def _joined(*parts: Text | str) -> Text:
    """Return the parts as one text. It is faster than the methods of ``Text``, because a row has many parts."""
    texts, ranges, at = [], [], 0
    for part in parts:
        text = part if isinstance(part, str) else part.plain
        if isinstance(part, Text):
            ranges += [StyledRange(at, at + len(text), part.style)] if part.style else []
            ranges += [StyledRange(at + start, at + end, style) for start, end, style in part.spans]
        texts.append(text)
        at += len(text)
    return Text("".join(texts), spans=ranges)


def _column_widths(rows: Sequence[Sequence[Text]], columns: Sequence[doc.Column], width: int) -> list[int]:
    """Return the widths of the columns, two apart, with which a row has at most ``width`` characters.

    The widest shrink first: names to 12 characters, then all columns to their longest word, then all.
    """
    lengths = [[cell.cell_len for cell in cells] for cells in zip(*rows, strict=True)]
    if width >= ANY_WIDTH - _INDENT:
        return [max((each for each in column if each <= _WIDEST), default=0) for column in lengths]
    widths = [*map(max, lengths)]
    names = [min(each, 12) if column.kind == "name" else each for each, column in zip(widths, columns, strict=True)]
    for least in (lambda: names, lambda: [*map(_least_width, zip(*rows, strict=True))], lambda: [1] * len(widths)):
        if (excess := sum(widths) + 2 * (len(widths) - 1) - width) <= 0:
            break
        floors = least()
        while excess > 0 and (wide := [number for number, each in enumerate(widths) if each > floors[number]]):
            widths[max(wide, key=widths.__getitem__)] -= 1
            excess -= 1
    return widths


def _least_width(column: Sequence[Text]) -> int:
    """Return the width below which a column is hard to read: its longest word, unless that is a name or a path."""
    longest = max((len(word) for cell in column for word in cell.plain.split()), default=1)
    return longest if longest <= _LONGEST_WORD else _LEAST_NAME


def _labels(blocks: Sequence[doc.Block | doc.Table]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, (doc.FactList, doc.FindingBlock)):
            yield from (fact.label for fact in block.facts)
        elif isinstance(block, (doc.Details, doc.DocumentSection, doc.Many)):
            yield from _labels(block.blocks)
