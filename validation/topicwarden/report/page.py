"""Write a document as one HTML page without external resources, for browsers, phones, screen readers and printers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from importlib import resources
from typing import Final, TypeAlias
from urllib.parse import quote

from topicwarden.report import display
from topicwarden.report import document as doc
from topicwarden.report.display import printable
from topicwarden.report.document import Document, Line, Role, omitted, shortened


class Markup(str):
    """HTML, which is not escaped again."""

    __slots__ = ()


Attribute: TypeAlias = "str | bool"


def shown(text: str) -> Markup:
    """Return a text with its control characters visible, as markup; markup itself unchanged."""
    if isinstance(text, Markup):
        return text
    return Markup(text if text.isalnum() else escape(printable(text)))


def tag(name: str, *children: str, **attributes: Attribute) -> Markup:
    """Return an element with escaped attributes and children; ``class_`` is ``class``, ``aria_label`` ``aria-label``.

    Attributes that are False or empty are left out.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{shown(value)}"')
        for key, value in attributes.items()
        if value
    )
    return Markup(f"<{name}{written}>{''.join(map(shown, children))}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    """Return markup that follows each other."""
    return Markup("".join(map(shown, parts)))


_FILTER: Final = """
<form id="filter" class="filter" role="search" aria-label="Topics" hidden>
<label>Filter topics <input type="search" name="words" placeholder="{}" autocomplete="off" spellcheck="false"></label>
<label>{} <select name="verdict"><option value="">any</option>{}</select></label>
<button type="reset">Clear</button>
<output id="filter-status" aria-live="polite"></output>
</form>
"""
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
{title}
<style>
{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the result</a>
{top}
<main id="main" class="frame" tabindex="-1">
{main}
</main>
{foot}</body>
</html>
"""


def filter_script() -> tuple[Markup, str]:
    """Return the script that filters the topics of a page, and its hash for the page's security policy."""
    script = _resource("page.js")
    return Markup(script), b64encode(sha256(script.encode()).digest()).decode()


def write(document: Document) -> str:
    """Return the whole page. It sends no network requests, and only its filter needs JavaScript."""
    policy, foot = "default-src 'none'; style-src 'unsafe-inline'", ""
    if document.source:
        foot = tag("footer", tag("div", inline(document.source), class_="frame"), class_="foot") + "\n"
    if document.filter:
        script, script_hash = filter_script()
        policy += f"; script-src 'sha256-{script_hash}'"
        foot += f"<script>{script}</script>\n"
    main = [_opening(document), _filter(document.filter) if document.filter else ""]
    main += [_block(block, document) for block in document.blocks]
    if document.next_command:
        step = tag("p", document.next_step), tag("pre", document.next_command)
        main.append(tag("section", *step, aria_label="Next step"))
    return _PAGE.format(
        policy=policy,
        title=tag("title", document.page_title or document.title),
        style=_resource("page.css"),
        top=_top(document),
        main="\n".join(filter(None, main)),
        foot=foot,
    )


def _resource(name: str) -> str:
    return resources.files("topicwarden.report").joinpath(name).read_text(encoding="utf-8")


def _top(document: Document) -> Markup:
    facts = [tag("div", tag("dt", label), tag("dd", value)) for label, value in document.facts]
    title = tag("h1", f"{document.title} ", tag("bdi", document.subject) if document.subject else "")
    return tag("header", tag("div", title, tag("dl", *facts) if facts else "", class_="frame"), class_="top")


def _opening(document: Document) -> Markup:
    sections = [block for block in document.blocks if isinstance(block, doc.DocumentSection) and block.id]
    links = [tag("a", label, href=address) for label, address in document.links]
    links += [tag("a", section.title, href=f"#{section.id}") for section in sections] if document.filter else []
    contents = tag("ul", *(tag("li", link) for link in links))
    notes = tag("ul", *(tag("li", inline(note.text)) for note in document.notes))
    return tag(
        "section",
        tag("h2", document.headline, id="outcome", class_="headline"),
        tag("p", f"{document.summary}.", class_="muted") if document.summary else "",
        tag("dl", *map(_card, document.cards), class_="totals") if document.cards else "",
        tag("section", notes, class_="limits", aria_label=document.notes_title) if document.notes else "",
        tag("nav", contents, class_="contents", aria_label="Contents") if links else "",
        class_="opening",
        aria_labelledby="outcome",
    )


def _card(card: doc.Card) -> Markup:
    symbol = f"{tag('span', card.symbol, aria_hidden='true')} " if card.symbol else ""
    label, value = tag("dt", Markup(symbol), card.label), tag("dd", card.value)
    return tag("div", label, value, class_=f"total {'none' if card.quiet else card.tone}".rstrip())


def _filter(filter_: doc.Filter) -> str:
    options = joined(tag("option", word) for word in filter_.words)
    return _FILTER.format(shown(filter_.placeholder), shown(filter_.label), options)


def _topic(topic: doc.TopicRef | None) -> dict[str, str]:
    if topic is None:
        return {}
    found = {"data_topic": topic.anchor}
    return {**found, "data_search": topic.search, "data_verdict": topic.word} if topic.search else found


def _rest(number: int, noun: str, document: Document, what: str = "", rest: str = "") -> Markup:
    text = omitted(number, noun, document.complete, what, rest)
    return tag("p", f"{text[0].upper()}{text[1:]}.", class_="lead rest") if number else Markup("")


def _blocks(blocks: Sequence[doc.Block], document: Document) -> Markup:
    return joined(_block(block, document) for block in blocks)


def _block(block: doc.Block, document: Document) -> Markup:  # noqa: PLR0911 -- one for each kind
    match block:
        case doc.Paragraph():
            return tag("p", inline(block.text))
        case doc.FactList():
            return _facts(block.facts, "traits")
        case doc.Table():
            return _table(block, document)
        case doc.FindingBlock():
            return _finding(block)
        case doc.Details():
            inner, anchor = _blocks(block.blocks, document), block.topic.anchor if block.topic else ""
            body = tag("div", inner, class_="topic-body", id=anchor)
            return tag("details", tag("summary", inline(block.summary)), body, "\n", **_topic(block.topic))
        case doc.DiffBlock():
            return tag("pre", "\n".join(block.lines))
        case doc.Plot():
            return _plot(block, document)
        case doc.Many():
            blocks, more = shortened(block.blocks, block.most)
            inner = _blocks(blocks, document)
            inner = tag("div", inner, class_=block.style) if block.style else inner
            return joined((inner, _rest(more, block.noun, document, block.what)))
        case doc.DocumentSection():
            return _section(block, document)


def _section(section: doc.DocumentSection, document: Document) -> Markup:
    inner = _blocks(section.blocks, document)
    if section.heading:
        heading, label = tag("h3", inline(section.heading)), section.title
        return tag("section", heading, inner, "\n", class_="group", aria_label=label, **_topic(section.topic))
    heading = tag("h2", section.title, id=f"{section.id}-title")
    lead = tag("p", section.lead, class_="lead") if section.lead else ""
    return tag("section", heading, lead, inner, "\n", id=section.id, aria_labelledby=f"{section.id}-title")


def _facts(facts: Sequence[doc.LabelledValues], style: str) -> Markup:
    return tag("dl", *(tag("div", tag("dt", fact.label), tag("dd", _values(fact))) for fact in facts), class_=style)


def _values(fact: doc.LabelledValues) -> Markup:
    if fact.joined:
        return tag("span", *(Markup(f"{tag('bdi', inline(value))} ") for value in fact.values), class_="evidence")
    if len(fact.values) == 1:
        return inline(fact.values[0])
    return tag("ul", *(tag("li", inline(value)) for value in fact.values))


def _finding(finding: doc.FindingBlock) -> Markup:
    line = [_badge(finding.tone, finding.symbol, finding.word), tag(f"h{finding.level}", inline(finding.subject))]
    where = [each if number else f"{'partitions' if ',' in each or '-' in each else 'partition'} {each}"
             for number, each in enumerate(finding.where) if each]  # fmt: skip
    line += [tag("span", each, class_="where") for each in where]
    line.append(tag("span", prose(finding.message), class_="message"))
    facts = [
        doc.LabelledValues(f"{fact.label[0].upper()}{fact.label[1:]}", fact.values, fact.joined)
        for fact in finding.facts
    ]
    more = _facts(facts, "more") if facts else tag("p", "No further details.", class_="muted")
    body = tag("div", more, class_="body", id=finding.anchor)
    summary = tag("summary", tag("span", *line, class_="line"))
    style = f"finding {finding.tone}"
    return tag("details", summary, body, "\n", class_=style, open=finding.open, **_topic(finding.topic))


def _badge(tone: doc.Tone, symbol: str, word: str) -> Markup:
    mark = f"{tag('span', symbol, aria_hidden='true')} " if symbol else ""
    return tag("span", Markup(mark), word, class_=f"badge {tone}")


def _table(table: doc.Table, document: Document) -> Markup:
    rows, more = shortened(table.rows, table.most)
    heading = next((number for number, column in enumerate(table.columns) if column.kind == "name"), 0)
    styles = ["" if column.kind == "number" else f' class="{column.kind}"' for column in table.columns]
    head = "".join(
        f'<th scope="col"{style}>{shown(column.title)}' for column, style in zip(table.columns, styles, strict=True)
    )
    if "stacked" in table.style:
        cells = [
            f'<td{style} data-th="{shown(each.title)}">' for each, style in zip(table.columns, styles, strict=True)
        ]
    else:
        cells = [f"<td{style}>" for style in styles]
    cells[heading] = f'<th scope="row"{styles[heading]}>'
    body = []
    for row in rows:
        topic = "".join(f' {key.replace("_", "-")}="{shown(value)}"' for key, value in _topic(row.topic).items())
        written = "".join(start + inline(cell) for start, cell in zip(cells, row.cells, strict=True))
        body.append(f"<tr{topic}>{written}\n")
    caption = tag("caption", table.caption, class_="" if table.titled else "unseen") if table.caption else ""
    inner = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(body)}</tbody>"
    drawn = f'<table class="{table.style}">{caption}{inner}</table>'
    rest, groups = _rest(more, table.noun, document, rest=table.rest), "scroll groups" if table.titled else "scroll"
    label = table.caption or "Table"
    return tag("div", Markup(drawn), rest, "\n", class_=groups, role="region", aria_label=label, tabindex="0")


def _plot(plot: doc.Plot, document: Document) -> Markup:
    return tag(
        "figure",
        tag("h3", plot.title),
        tag("figcaption", plot.caption) if plot.caption else "",
        Markup(plot.drawing),
        _blocks(plot.blocks, document),
        "\n",
        id=f"plot-{plot.id}" if plot.id else "",
        role="figure",
        aria_label=plot.title,
        class_="whole" if plot.whole else "",
    )


def inline(text: Line) -> Markup:
    """Return a line as markup."""
    if len(text) == 1 and text[0].role is Role.TEXT and not text[0].link:
        return shown(text[0].text)
    return Markup("".join(map(_span, text)))


def _span(span: doc.Span) -> str:
    inner = prose(span.text) if span.role is Role.PROSE else shown(span.text)
    match span.role:
        case Role.DRAWING:
            return span.text
        case Role.CODE:
            inner = tag("code", inner)
        case Role.NAME:
            inner = Markup(f"<bdi>{inner}</bdi>")
        case Role.STRONG:
            inner = tag("b", tag("bdi", inner))
        case Role.MUTED:
            inner = tag("span", inner, class_=f"muted {span.tone}".rstrip())
        case Role.BADGE:
            symbol, word = ("", span.text) if span.text[:1].isalnum() else span.text.split(" ", 1)
            inner = _badge(span.tone, symbol, word)
        case _:
            pass
    if span.link:
        target = span.link if span.link.startswith("#") else quote(span.link)
        return tag("a", inner, href=target, data_words=span.words)
    return inner


def prose(sentence: str) -> Markup:
    """Return a sentence as one line of HTML, in which code is monospaced, without its backticks."""
    return joined(tag("code", part) if is_code else shown(part) for part, is_code in display.code_spans(sentence))
