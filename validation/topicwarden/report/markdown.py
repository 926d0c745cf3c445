"""Write a document as GitHub-flavoured Markdown, for pull requests, job summaries and chats, below a size limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from topicwarden.model.message_text import first_lines
from topicwarden.report import display
from topicwarden.report import document as doc
from topicwarden.report.display import one_line
from topicwarden.report.document import MOST_LETTERS, Document, Line, Role, Span, cut, omitted

LIMIT: Final = 65_000
"""GitHub's limit is 65,536 characters, with the folder of the project. Here it limits bytes, which are never fewer."""

_Item = TypeVar("_Item")
_RESERVE: Final = 2_000
"""Bytes for the lines that report what is omitted."""
_MOST_VALUES: Final = 20
_MOST_LINES: Final = 60
_LONGEST: Final = 1_000
"""Characters of a text that is in no cell."""

# Character references have no meaning for Markdown, neither in a table cell nor in an HTML block.
_REFERENCES: Final = str.maketrans({character: f"&#{ord(character)};" for character in "\\`*_[]#|~$<>&@"})
# GitHub searches the rendered page for mentions, issues, emoji and links. A zero-width space prevents a match.
_ZERO_WIDTH_SPACE: Final = "&#8203;"
_MENTION: Final = re.compile(r"(&#64;|&#35;)(?=[\w-])")
_EMOJI: Final = re.compile(r":(?=[\w+-]+:)")
_LINK: Final = re.compile(r":(?=//)|\bwww(?=\.)", re.IGNORECASE)


def write(document: Document, limit: int | None = LIMIT) -> str:
    """Return Markdown of at most ``limit`` bytes; None for no limit. What does not fit is left out, and counted."""
    head = _head(document)
    notes = _notes(document)
    foot = "".join(_foot(document))
    space = 10**9 if limit is None else limit - _RESERVE - _size(head) - _size(foot)
    fitting, rest = _fitting(notes, lambda note: note, space // 4)
    shown = "".join(fitting) + (f"- {_omitted(rest, 'note', document)}\n" if rest else "")
    text = head + (f"{shown}\n" if shown else "")
    text += "".join(_blocks(document.blocks, document, space - _size(shown)))
    return f"{(text + foot).rstrip()}\n"


def _head(document: Document) -> str:
    title = f"{plain(document.title)} {code(document.subject)}" if document.marker else ""
    if document.marker:
        lines = [document.marker, f"**{title}: {plain(document.headline)}**\n"]
    else:
        lines = [f"# {plain(f'{document.title} {document.subject}'.rstrip())}\n", f"**{plain(document.headline)}**\n"]
    lines += [f"{plain(document.summary)}\n"] if document.summary else []
    return "\n".join(lines) + "\n"


def _notes(document: Document) -> list[str]:
    return [
        f"- {f'{note.word.capitalize()}: ' if note.word else ''}{inline(note.text, 400)}\n" for note in document.notes
    ]


def _foot(document: Document) -> Iterator[str]:
    if document.next_command:
        yield f"{document.next_step}\n\n    {document.next_command}\n\n"
    if document.source:
        yield f"<sub>{inline(document.source)}</sub>\n"


def _blocks(blocks: Sequence[doc.Block], document: Document, space: int, *, top: bool = True) -> Iterator[str]:
    """Yield the text of each block, cut to its share of ``space``; blocks that do not fit are left out."""
    for block in blocks:
        if isinstance(block, doc.DocumentSection):
            heading = inline(block.heading) or plain(block.title)
            mark = f"**{heading}**\n\n" if block.plain else f"## {heading}\n\n" if heading else ""
            inner = "".join(_blocks(block.blocks, document, space - _size(mark), top=top))
            text = mark + inner if inner else ""
        elif isinstance(block, doc.Many):
            text = _many(block, document, int(space * block.share), top=top)
        elif isinstance(block, doc.Table):
            text = "".join(_table(block, document, int(space * block.share)))
        else:
            text = "".join(_block(block, document, space, top=top))
        space -= _size(text)
        yield text


def _many(many: doc.Many, document: Document, space: int, *, top: bool) -> str:
    chosen = many.blocks[: many.most]
    texts, _ = _fitting(chosen, lambda each: "".join(_blocks([each], document, space, top=top)), space)
    more = len(many.blocks) - len(texts)
    return "".join(texts) + (f"… {_omitted(more, many.noun, document, many.what)}\n\n" if more else "")


def _block(
    block: doc.Paragraph | doc.FactList | doc.FindingBlock | doc.Details | doc.DiffBlock | doc.Plot,
    document: Document,
    space: int,
    *,
    top: bool,
) -> Iterator[str]:
    match block:
        case doc.Paragraph():
            yield f"{inline(block.text)}\n\n"
        case doc.FactList():
            yield from map(_fact, block.facts)
            yield "\n"
        case doc.FindingBlock():
            yield from _finding(block, document, folded=block.folded and top)
        case doc.Details():
            symbol = f"{block.symbol} " if block.symbol else ""
            yield f"<details><summary>{symbol}{inline(block.summary)}</summary>\n\n"
            yield from _blocks(block.blocks, document, space, top=False)
            yield "</details>\n\n"
        case doc.DiffBlock():
            yield _difference(block.lines, document)
        case _:
            pass


def _finding(finding: doc.FindingBlock, document: Document, *, folded: bool) -> Iterator[str]:
    subject = inline(
        tuple(span if span.role is not Role.TEXT else Span(span.text, Role.CODE) for span in finding.subject)
    )
    partitions = f" &#91;{plain(finding.where[0])}&#93;" if finding.where and finding.where[0] else ""
    message = prose(cut(finding.message, _LONGEST))
    if folded:
        symbol = f"{finding.symbol} " if finding.symbol else ""
        yield f"<details><summary>{symbol}<b>{finding.word}</b> {subject}{partitions}: {message}</summary>\n\n"
    else:
        yield f"**{finding.word}** {subject}{partitions}: {message}\n"
    yield from map(_fact, finding.facts)
    yield "\n"
    for table in finding.tables:
        yield from _table(table, document, 10**9)
    if folded:
        yield "</details>\n\n"


def _fact(fact: doc.LabelledValues) -> str:
    label = f"**{fact.label}**" if fact.label == "remedy" else fact.label
    if fact.joined:
        return f"- {label}: {'; '.join(inline(value, 400) for value in fact.values)}\n" if fact.values else ""
    values = [f"{label}: {inline(value, 400)}" for value in fact.values]
    return "".join(f"- {value}\n" for value in first_lines(values, _MOST_VALUES))


def _table(table: doc.Table, document: Document, space: int) -> Iterator[str]:
    heads = [plain(column.title) for column in table.columns]
    title = f"**{plain(table.caption)}**\n\n" if table.titled else ""
    rule = "|".join("--:" if column.kind == "number" else "---" for column in table.columns)
    head = f"{title}| {' | '.join(heads)} |\n|{rule}|\n"
    rows, _ = _fitting(table.rows[: table.most], _row, space - _size(head))
    if rows:
        yield head
        yield from rows
        yield "\n"
    if more := len(table.rows) - len(rows):
        yield f"… {_omitted(more, table.noun, document, rest=table.rest)}\n\n"


def _row(row: doc.Row) -> str:
    return f"| {' | '.join(inline(cell, MOST_LETTERS) for cell in row.cells)} |\n"


def _difference(lines: Sequence[str], document: Document) -> str:
    """Return a block of a diff, whose fence is longer than any in its lines."""
    one_each = (" ".join(display.printable(line).splitlines()) for line in lines[:_MOST_LINES])
    shown = [cut(line, 200) for line in one_each]
    more = f"… {_omitted(len(lines) - _MOST_LINES, 'line', document)}\n\n" if len(lines) > _MOST_LINES else ""
    longest = max((len(run) for line in shown for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}diff", *shown, fence]) + f"\n\n{more}"


def _omitted(number: int, noun: str, document: Document, what: str = "", rest: str = "") -> str:
    return prose(omitted(number, noun, document.complete, what, rest))


def _fitting(items: Sequence[_Item], write_one: Callable[[_Item], str], space: int) -> tuple[list[str], int]:
    """Return the first of ``items``, written, as many as fit into ``space`` bytes, and the number of the others."""
    texts: list[str] = []
    for each in items:
        text = write_one(each)
        space -= _size(text)
        if space < 0:
            break
        texts.append(text)
    return texts, len(items) - len(texts)


def _size(text: str) -> int:
    return len(text.encode())


def inline(text: Line, most: int = _LONGEST) -> str:
    """Return a line as Markdown; each of its texts has at most ``most`` characters."""
    return "".join(_span(span, cut(span.text, most)) for span in text if span.role is not Role.DRAWING)


def _span(span: Span, text: str) -> str:
    match span.role:
        case Role.PROSE:
            return prose(text)
        case Role.CODE | Role.NAME:
            return code(text)
        case Role.STRONG:
            return f"<b>{plain(text)}</b>"
        case _:
            return f"{' ' * text[:1].isspace()}{plain(text)}{' ' * (text.strip() != '' and text[-1:].isspace())}"


def plain(text: str) -> str:
    """Return one line of Markdown that shows ``text`` literally: GitHub creates no mentions, links or markup."""
    shown = _MENTION.sub(rf"\1{_ZERO_WIDTH_SPACE}", one_line(text).translate(_REFERENCES))
    shown = _LINK.sub(rf"\g<0>{_ZERO_WIDTH_SPACE}", shown)
    return _EMOJI.sub(f":{_ZERO_WIDTH_SPACE}", shown)


def prose(sentence: str) -> str:
    """Return a sentence as ``plain`` Markdown, in which what is in backticks is code."""
    return "".join(
        code(part)
        if is_code
        else f"{' ' * part.startswith(' ')}{plain(part)}{' ' * (part != ' ' and part.endswith(' '))}"
        for part, is_code in display.code_spans(sentence)
    )


def code(text: str) -> str:
    """Return ``text`` as code, in which GitHub creates no mentions or links; also valid in an HTML block."""
    return f"<code>{one_line(text).translate(_REFERENCES)}</code>"
