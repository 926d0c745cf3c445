"""Write a document as one HTML page without external resources, for browsers, phones, screen readers and printers."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from importlib import resources
from urllib.parse import quote

from markupsafe import Markup, escape

from topicwarden.report import display
from topicwarden.report.document import (
    Block,
    Column,
    Details,
    DiffBlock,
    Document,
    DocumentSection,
    FactList,
    Filter,
    FindingBlock,
    LabelledValues,
    Line,
    Many,
    Paragraph,
    Plot,
    Role,
    Span,
    Table,
    Tone,
    TopicRef,
    omitted,
    shortened,
)


def filter_script() -> tuple[Markup, str]:
    """Return the script that filters the topics of a page, and its hash for the page's security policy."""
    script = _resource("page.js")
    return Markup(script), b64encode(sha256(script.encode()).digest()).decode()


def write(document: Document) -> str:
    """Return the whole page. It sends no network requests, and only its filter needs JavaScript."""
    script, script_hash = filter_script() if document.filter else (Markup(""), "")
    policy = "default-src 'none'; style-src 'unsafe-inline'" + (
        f"; script-src 'sha256-{script_hash}'" if document.filter else ""
    )
    parts = [
        Markup('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup('<meta http-equiv="Content-Security-Policy" content="') + Markup(policy) + Markup('">'),
        tag("title", document.page_title or document.title),
        Markup("<style>\n") + Markup(_resource("page.css")) + Markup("</style>\n</head>\n<body>"),
        Markup('<a class="skip" href="#main">Skip to the result</a>'),
        _top(document),
        Markup('<main id="main" class="frame" tabindex="-1">'),
        _opening(document),
        *([_filter(document.filter)] if document.filter else []),
        *(_block(block, document) for block in document.blocks),
        *([_next(document)] if document.next_command else []),
        Markup("</main>"),
    ]
    if document.source:
        parts.append(tag("footer", tag("div", inline(document.source), class_="frame"), class_="foot"))
    if document.filter:
        parts.append(Markup("<script>") + script + Markup("</script>"))
    return "\n".join([*parts, "</body>\n</html>\n"])


def tag(name: str, *children: Markup | str, **attributes: str | bool | None) -> Markup:
    """Return an element with escaped attributes and children; ``class_`` is ``class``, ``aria_label`` ``aria-label``.

    Attributes that are None, False or empty are left out.
    """
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{shown(value)}"')
        for key, value in attributes.items()
        if value
    )
    content = "".join(child if isinstance(child, Markup) else shown(child) for child in children)
    return Markup(f"<{name}{written}>{content}</{name}>")


def shown(text: str | Markup) -> Markup:
    """Return a text with its control characters visible, as markup."""
    return text if isinstance(text, Markup) else escape(display.printable(text))


def _resource(name: str) -> str:
    return resources.files("topicwarden.report").joinpath(name).read_text(encoding="utf-8")


def _joined(parts: Iterable[Markup | str]) -> Markup:
    return Markup("").join(parts)


def _top(document: Document) -> Markup:
    facts = [tag("div", tag("dt", label), tag("dd", value)) for label, value in document.facts]
    title = tag("h1", f"{document.title} ", tag("bdi", document.subject) if document.subject else "")
    return tag(
        "header",
        tag("div", title, tag("dl", *facts) if facts else "", class_="frame"),
        class_="top",
    )


def _opening(document: Document) -> Markup:
    sections = [block for block in document.blocks if isinstance(block, DocumentSection) and block.id]
    links = [tag("a", label, href=address) for label, address in document.links]
    links += [tag("a", section.title, href=f"#{section.id}") for section in sections] if document.filter else []
    cards = [
        tag(
            "div",
            tag("dt", tag("span", card.symbol, aria_hidden="true") + " " if card.symbol else "", card.label),
            tag("dd", card.value),
            class_=f"total {'none' if card.quiet else card.tone}".rstrip(),
        )
        for card in document.cards
    ]
    notes = [tag("li", inline(note.text)) for note in document.notes]
    return tag(
        "section",
        tag("h2", document.headline, id="outcome", class_="headline"),
        tag("p", f"{document.summary}.", class_="muted") if document.summary else "",
        tag("dl", *cards, class_="totals") if cards else "",
        tag("section", tag("ul", *notes), class_="limits", aria_label=document.notes_title) if notes else "",
        tag("nav", tag("ul", *(tag("li", link) for link in links)), class_="contents", aria_label="Contents")
        if links
        else "",
        class_="opening",
        aria_labelledby="outcome",
    )


def _filter(filter_: Filter) -> Markup:
    options = [Markup('<option value="">any</option>'), *(tag("option", word) for word in filter_.words)]
    return Markup(
        '\n<form id="filter" class="filter" role="search" aria-label="Topics" hidden>\n'
        '<label>Filter topics <input type="search" name="words" placeholder="{}" autocomplete="off" spellcheck="false">'
        '</label>\n<label>{} <select name="verdict">{}</select></label>\n<button type="reset">Clear</button>\n'
        '<output id="filter-status" aria-live="polite"></output>\n</form>\n'
    ).format(filter_.placeholder, filter_.label, _joined(options))


def _next(document: Document) -> Markup:
    return tag("section", tag("p", document.next_step), tag("pre", document.next_command), aria_label="Next step")


def _topic(topic: TopicRef | None) -> dict[str, str]:
    if topic is None:
        return {}
    found = {"data_topic": topic.anchor}
    return {**found, "data_search": topic.search, "data_verdict": topic.word} if topic.search else found


def _rest(number: int, noun: str, document: Document, what: str = "", rest: str = "") -> Markup | str:
    text = omitted(number, noun, document.complete, what, rest)
    return tag("p", f"{text[0].upper()}{text[1:]}.", class_="lead rest") if number else ""


def _block(block: Block, document: Document) -> Markup:  # noqa: PLR0911 -- one for each kind
    match block:
        case Paragraph():
            return tag("p", inline(block.text))
        case FactList():
            return _facts(block.facts, "traits")
        case Table():
            return _table(block, document)
        case FindingBlock():
            return _finding(block)
        case Details():
            inner = _joined(_block(each, document) for each in block.blocks)
            body = tag("div", inner, class_="topic-body", id=block.topic.anchor if block.topic else "")
            summary = tag("summary", inline(block.summary))
            return tag("details", summary, body, **_topic(block.topic)) + "\n"
        case DiffBlock():
            return tag("pre", "\n".join(block.lines))
        case Plot():
            return _plot(block, document)
        case Many():
            blocks, more = shortened(block.blocks, block.most)
            inner = _joined(_block(each, document) for each in blocks)
            return (tag("div", inner, class_=block.style) if block.style else inner) + _rest(
                more, block.noun, document, block.what
            )
        case DocumentSection():
            return _section(block, document)


def _section(section: DocumentSection, document: Document) -> Markup:
    inner = _joined(_block(each, document) for each in section.blocks)
    if section.heading:
        heading = tag("h3", inline(section.heading))
        return tag("section", heading, inner, class_="group", aria_label=section.title, **_topic(section.topic)) + "\n"
    heading = tag("h2", section.title, id=f"{section.id}-title")
    lead = tag("p", section.lead, class_="lead") if section.lead else ""
    return tag("section", heading, lead, inner, id=section.id, aria_labelledby=f"{section.id}-title") + "\n"


def _facts(facts: Sequence[LabelledValues], style: str) -> Markup:
    return tag("dl", *(tag("div", tag("dt", fact.label), tag("dd", _values(fact))) for fact in facts), class_=style)


def _values(fact: LabelledValues) -> Markup:
    if fact.joined:
        return tag("span", *(tag("bdi", inline(value)) + " " for value in fact.values), class_="evidence")
    if len(fact.values) == 1:
        return inline(fact.values[0])
    return tag("ul", *(tag("li", inline(value)) for value in fact.values))


def _finding(finding: FindingBlock) -> Markup:
    word = (finding.symbol, finding.word)
    line = [_badge(finding.tone, *word), tag(f"h{finding.level}", inline(finding.subject))]
    where = [each if number else f"{'partitions' if ',' in each or '-' in each else 'partition'} {each}"
             for number, each in enumerate(finding.where) if each]  # fmt: skip
    line += [tag("span", each, class_="where") for each in where]
    line.append(tag("span", prose(finding.message), class_="message"))
    facts = [
        LabelledValues(f"{fact.label[0].upper()}{fact.label[1:]}", fact.values, fact.joined) for fact in finding.facts
    ]
    more = _facts(facts, "more") if facts else tag("p", "No further details.", class_="muted")
    return (
        tag(
            "details",
            tag("summary", tag("span", *line, class_="line")),
            tag("div", more, class_="body", id=finding.anchor),
            class_=f"finding {finding.tone}",
            open=finding.open,
            **_topic(finding.topic),
        )
        + "\n"
    )


def _badge(tone: Tone, symbol: str, word: str) -> Markup:
    mark = tag("span", symbol, aria_hidden="true") + " " if symbol else ""
    return tag("span", mark, word, class_=f"badge {tone}")


def _table(table: Table, document: Document) -> Markup:
    rows, more = shortened(table.rows, table.most)
    named = next((number for number, column in enumerate(table.columns) if column.kind == "name"), 0)
    head = _joined(
        Markup('<th scope="col"{}>{}').format(_class(column), shown(column.title)) for column in table.columns
    )
    stacked = "stacked" in table.style
    titles = [Markup(' data-th="{}"').format(shown(column.title)) if stacked else "" for column in table.columns]
    styles = [_class(column) for column in table.columns]
    body = []
    for row in rows:
        cells = "".join(
            f'<th scope="row"{styles[number]}>{inline(cell)}'
            if number == named
            else f"<td{styles[number]}{titles[number]}>{inline(cell)}"
            for number, cell in enumerate(row.cells)
        )
        topic = "".join(f' {key.replace("_", "-")}="{shown(value)}"' for key, value in _topic(row.topic).items())
        body.append(f"<tr{topic}>{cells}\n")
    caption = tag("caption", table.caption, class_="" if table.titled else "unseen") if table.caption else ""
    drawn = Markup('<table class="{}">{}<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>').format(
        table.style, caption, head, Markup("".join(body))
    )
    label = table.caption or "Table"
    groups = "scroll groups" if table.titled else "scroll"
    rest = _rest(more, table.noun, document, rest=table.rest)
    return tag("div", drawn, rest, class_=groups, role="region", aria_label=label, tabindex="0") + "\n"


def _class(column: Column) -> Markup:
    return Markup("") if column.kind == "number" else Markup(' class="{}"').format(column.kind)


def _plot(plot: Plot, document: Document) -> Markup:
    label = f"{plot.title}; the same numbers are in the tables below"
    drawn = [
        tag("div", Markup(markup), class_=f"plot {width}", role="img", aria_label=label)
        for width, markup in (("wide", plot.wide), ("narrow", plot.narrow))
        if markup
    ]
    return (
        tag(
            "figure",
            tag("h3", plot.title),
            tag("figcaption", plot.caption) if plot.caption else "",
            Markup(plot.drawing),
            *drawn,
            *(_block(each, document) for each in plot.blocks),
            id=f"plot-{plot.id}" if plot.id else "",
            role="figure",
            aria_label=plot.title,
            class_="whole" if plot.whole else "",
        )
        + "\n"
    )


def inline(text: Line) -> Markup:
    """Return a line as markup."""
    return _joined(map(_span, text))


def _span(span: Span) -> Markup:
    inner = prose(span.text) if span.role is Role.PROSE else shown(span.text)
    match span.role:
        case Role.DRAWING:
            return Markup(span.text)
        case Role.CODE:
            inner = tag("code", inner)
        case Role.NAME:
            inner = tag("bdi", inner)
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
    parts = ((shown(part), is_code) for part, is_code in display.code_spans(sentence))
    return _joined(tag("code", part) if is_code else part for part, is_code in parts)
