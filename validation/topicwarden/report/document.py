"""A report as a document: headings, facts, tables, findings, notes and plots, which writers turn into text.

A document is made from a typed report for one medium, because a terminal has room for fewer rows than a page. It has
no markup: writers escape every text, shorten lists, and decide widths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Final, NamedTuple, TypeAlias, TypeVar

from topicwarden.model.message_text import counted_more
from topicwarden.report.display import one_line

_Item = TypeVar("_Item")


class Medium(Enum):
    """The output that a document is made for."""

    TERMINAL = 0
    MARKDOWN = 1
    PAGE = 2

    def most(self, terminal: int, markdown: int, page: int) -> int:
        """Return the number of items that this medium shows."""
        return (terminal, markdown, page)[self.value]


class Tone(StrEnum):
    """The urgency of a text. Writers show it as a colour."""

    FAIL = "fail"
    SUSPECT = "suspect"
    UNDECIDABLE = "undecidable"
    NOTE = "note"
    PASS = "pass"
    NONE = ""


class Role(Enum):
    """The kind of a text. A ``PROSE`` is a sentence with code in backticks; elsewhere a backtick is a character.

    A ``NAME`` is code in a comment, where GitHub would make a link of it. A ``DRAWING`` is markup of a page, which no
    other medium shows.
    """

    TEXT = 0
    PROSE = 1
    CODE = 2
    STRONG = 3
    MUTED = 4
    BADGE = 5
    DRAWING = 6
    NAME = 7


class Span(NamedTuple):
    """A part of a line. ``link`` is the anchor or the page that it leads to; ``words`` is a text to filter by."""

    text: str
    role: Role = Role.TEXT
    tone: Tone = Tone.NONE
    link: str = ""
    words: str = ""


Line: TypeAlias = tuple[Span, ...]
Words: TypeAlias = str | Span | Line


def line(*parts: Words) -> Line:
    """Return a line of literal texts, spans and lines."""
    spans: list[Span] = []
    for part in parts:
        if isinstance(part, str):
            spans += [Span(part)] if part else []
        elif isinstance(part, Span):
            spans.append(part)
        else:
            spans += part
    return tuple(spans)


def prose(text: str) -> Line:
    """Return a sentence in which code is in backticks; nothing for an empty text."""
    return (Span(text, Role.PROSE),) if text else ()


def name(text: str, link: str = "", words: str = "") -> Span:
    """Return the name of a topic, a stack or a check."""
    return Span(text, Role.NAME, link=link, words=words)


def code(text: str) -> Span:
    """Return a name, a path or a command."""
    return Span(text, Role.CODE)


def strong(text: str, tone: Tone = Tone.NONE) -> Span:
    """Return an important text."""
    return Span(text, Role.STRONG, tone)


def muted(text: str) -> Span:
    """Return an unimportant text."""
    return Span(text, Role.MUTED)


def badge(word: str, tone: Tone) -> Span:
    """Return a word in the colour of its tone."""
    return Span(word, Role.BADGE, tone)


@dataclass(frozen=True)
class TopicRef:
    """The topic that a part of a page is on: its anchor, the text that the filter searches, and its word."""

    anchor: str
    search: str = ""
    word: str = ""


def search_text(names: Iterable[str]) -> str:
    """Return the text in which the page's filter searches. Bars separate the names, for searches of a whole name."""
    return one_line(f"|{'|'.join(names)}|").lower()


@dataclass(frozen=True)
class Paragraph:
    """One line of text. On a terminal, paragraphs that follow each other have no empty line between them."""

    text: Line


@dataclass(frozen=True)
class LabelledValues:
    """A label with its values, one per line; on one line if ``joined``."""

    label: str
    values: tuple[Line, ...]
    joined: bool = False


@dataclass(frozen=True)
class FactList:
    """Labels with values."""

    facts: tuple[LabelledValues, ...]


def facts(values: Mapping[str, Iterable[Words]], joined: str = "") -> tuple[LabelledValues, ...]:
    """Return the labels that have values. Empty values are left out; those of the label ``joined`` are on one line."""
    lines = {label: tuple(filter(None, map(line, each))) for label, each in values.items()}
    return tuple(LabelledValues(label, each, label == joined) for label, each in lines.items() if each)


@dataclass(frozen=True)
class Column:
    """A column of a table. The widest names are wrapped; a terminal shows columns ``below`` under their row.

    A terminal of fewer than 130 columns leaves out columns that are ``wide``.
    """

    title: str
    kind: str = "word"
    wide: bool = False
    below: bool = False


def number(title: str, *, wide: bool = False) -> Column:
    """Return a column of numbers."""
    return Column(title, "number", wide)


def named(title: str, *, wide: bool = False, below: bool = False) -> Column:
    """Return a column of names or sentences, which are wrapped."""
    return Column(title, "name", wide, below)


class Row(NamedTuple):
    """A row of a table, with a cell for each column."""

    cells: tuple[Line, ...]
    topic: TopicRef | None = None


@dataclass(frozen=True)
class Table:
    """A table; at most ``most`` of its rows are shown. ``rest`` describes the others: ``, 1.0 GiB``.

    ``share`` is the part of the remaining space of a comment that it may have. A terminal shows the titles of its
    columns if it is ``headed``.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    titled: bool = False
    noun: str = "row"
    most: int = 1_000_000
    rest: str = ""
    share: float = 1
    style: str = "stacked"
    headed: bool = True


def grid(
    items: Iterable[_Item],
    cells: Mapping[Column | str, Callable[[_Item], Words]],
    topic: Callable[[_Item], TopicRef | None] = lambda _: None,
) -> tuple[tuple[Column, ...], tuple[Row, ...]]:
    """Return the columns and the rows of a table: a row for each item, with what each column's function returns."""
    columns = tuple(Column(each) if isinstance(each, str) else each for each in cells)
    rows = (Row(tuple(line(cell(item)) for cell in cells.values()), topic(item)) for item in items)
    return columns, tuple(rows)


@dataclass(frozen=True)
class FindingBlock:
    """One thing to look at: a word, its subject, a sentence, and labelled values such as reasons and remedies.

    ``level`` is that of its heading on a page.
    """

    word: str
    tone: Tone
    subject: Line
    message: str
    facts: tuple[LabelledValues, ...] = ()
    tables: tuple[Table, ...] = ()
    where: tuple[str, ...] = ()
    symbol: str = ""
    folded: bool = False
    open: bool = True
    anchor: str = ""
    level: int = 4
    topic: TopicRef | None = None


@dataclass(frozen=True)
class Details:
    """A line that unfolds to blocks; a terminal shows them below it."""

    summary: Line
    blocks: tuple[Block, ...] = ()
    topic: TopicRef | None = None
    symbol: str = ""


@dataclass(frozen=True)
class DiffBlock:
    """Lines of a diff."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Plot:
    """A drawing for pages, as markup that fits each width, with a caption. A ``whole`` one has a row for itself."""

    id: str
    title: str
    caption: str
    whole: bool = False
    drawing: str = ""
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Many:
    """Blocks of one kind; at most ``most`` are shown. ``what`` precedes the number of the others."""

    blocks: tuple[Block, ...]
    noun: str
    most: int = 1_000_000
    what: str = ""
    share: float = 1
    style: str = ""


@dataclass(frozen=True)
class DocumentSection:
    """Blocks below a heading, which a terminal shows only if ``titled``. ``compact`` blocks have no lines between them.

    ``plain`` headings are bold lines of a comment.
    """

    title: str
    blocks: tuple[Block, ...]
    lead: str = ""
    id: str = ""
    titled: bool = False
    compact: bool = False
    plain: bool = False
    heading: Line = ()
    topic: TopicRef | None = None


Block: TypeAlias = Paragraph | FactList | Table | FindingBlock | Details | DiffBlock | Plot | Many | DocumentSection


@dataclass(frozen=True)
class Card:
    """A number at the start of a page."""

    label: str
    value: str
    tone: Tone = Tone.NONE
    symbol: str = ""
    quiet: bool = False


@dataclass(frozen=True)
class Note:
    """A limit of the report, or a remark on it, behind a word such as ``limit``, which only a terminal needs."""

    word: str
    text: Line


@dataclass(frozen=True)
class Filter:
    """The filter of a page: what may be typed, and the words of topics to choose from."""

    placeholder: str
    label: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Document:
    """A report for one medium. ``complete`` says where omitted items are: ``the JSON has all``.

    ``marker`` is the first line of a comment, by which it is found again. ``source`` says what made the report.
    """

    title: str
    subject: str
    headline: str
    summary: str
    blocks: tuple[Block, ...]
    complete: str
    notes: tuple[Note, ...] = ()
    notes_title: str = "Limits of this report"
    facts: tuple[tuple[str, str], ...] = ()
    cards: tuple[Card, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    filter: Filter | None = None
    marker: str = ""
    page_title: str = ""
    source: Line = ()
    next_step: str = ""
    next_command: str = ""


OFFLINE: Final = "This page sends no network requests."
MOST_LETTERS: Final = 250
"""Characters of a text in a cell of a comment: the longest name of a topic has 249."""


def shortened(items: Sequence[_Item], most: int) -> tuple[Sequence[_Item], int]:
    """Return the first ``most`` items, and the number of the others."""
    return items[:most], max(0, len(items) - most)


def omitted(number: int, noun: str, complete: str, what: str = "", rest: str = "") -> str:
    """Return the line below a shortened list: ``and 3 more rows; the JSON has all``."""
    return f"and {what}{counted_more(number, noun)}{rest}; {complete}"


def cut(text: str, most: int = MOST_LETTERS) -> str:
    """Return the first characters of a text, with an ellipsis if others are left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
