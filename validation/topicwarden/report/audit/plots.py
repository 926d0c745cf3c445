"""The plots of an audit's report: its topics, and the trend of its verdicts.

Colours are CSS variables of the page, so that the plots follow its colour scheme. Each mark has a title with the exact
value, which browsers show as a tooltip.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import floor, inf, log10
from typing import Final

from topicwarden.model.finding import AgeBand, PastAudit, TopicFacts
from topicwarden.model.verdict import WORST_FIRST, Verdict
from topicwarden.report import display
from topicwarden.report.document import Plot
from topicwarden.report.page import Markup, tag

MAX_TOPICS = 20
"""Number of topics in a plot. The tables of the page contain all topics."""
_LONGEST_NAME: Final = 24
_SHARES: Final = (0.01, 0.1, 0.25, 0.5)
"""Lower bounds of the colours: the share of the topic's records in an age band."""
_POSITIONS: Final = 200
"""The number of different positions of a dot. Dots at one position are drawn once."""
_TICKS: Final = 5


def topic_plots(topics: Sequence[TopicFacts]) -> Iterator[Plot]:
    """Yield the plots of age, size and skew. ``topics`` begins with the most important."""
    yield _plot(
        Plot(
            "age",
            "Age of records",
            "Each row is a topic, each column an age. A stronger colour means a larger share of the topic's records;"
            " red cells are timestamps in the future. The numbers are counts of records.",
            whole=True,
        ),
        [topic for topic in topics if any(band.records > 0 for band in topic.ages)],
        "the worst first",
        "No records were read, so there are no ages to show.",
        _age_rows,
    )
    yield _plot(
        Plot(
            "size",
            "Size of topics",
            "The thick bar shows the keys and values that were read, uncompressed. The thin bar shows the size on the"
            " disks of the leaders.",
        ),
        sorted(filter(_largest, topics), key=lambda topic: (-_largest(topic), topic.name)),
        "the largest",
        "No bytes were read, so there are no sizes to show.",
        _size_rows,
    )
    skewed = [topic for topic in topics if topic.skew is not None and len(topic.partitions) > 1]
    yield _plot(
        Plot(
            "skew",
            "Skew of partitions",
            "Each dot is a partition. Its position is its number of records divided by the topic's mean (the dashed"
            " line at 1×). The partition with the most records is labelled.",
        ),
        sorted(skewed, key=lambda topic: (-(topic.skew or 0), topic.name)),
        "those with the highest skew",
        "No topic has records and several partitions, so there is no skew to show.",
        _skew_rows,
    )


def _plot(
    plot: Plot,
    topics: list[TopicFacts],
    order: str,
    empty: str,
    rows: Callable[[Sequence[TopicFacts]], Iterable[Markup]],
) -> Plot:
    """Return ``plot`` with the rows of its first topics, or with the caption ``empty``."""
    if not topics:
        return replace(plot, caption=empty)
    shown = topics[:MAX_TOPICS]
    more = f" The plot shows {len(shown)} of {len(topics):,} topics, {order}; the tables below contain all."
    label = f"{plot.title}; the same numbers are in the tables below"
    drawing = tag("div", *rows(shown), class_="plot", role="img", aria_label=label)
    return replace(plot, caption=plot.caption + (more if len(shown) < len(topics) else ""), drawing=drawing)


def _row(name: str, kind: str, marks: Iterable[Markup], style: str = "") -> Markup:
    """Return the marks of one topic behind its name, which is cut in the middle: names often differ at their ends."""
    label = tag("b", display.shorten(name, _LONGEST_NAME), title=name)
    return tag("div", label, tag("span", *marks, class_=kind, style=style), class_="row")


def _age_rows(topics: Sequence[TopicFacts]) -> Iterator[Markup]:
    """Yield the rows of a heat map with age bands as columns. Dark cells have a large share of the records."""
    bands = sorted(
        {(band.from_ms, band.to_ms) for topic in topics for band in topic.ages},
        key=lambda band: (-inf if band[0] is None else band[0], inf if band[1] is None else band[1]),
    )
    columns = dict.fromkeys(display.age(*band) for band in bands)
    # A line is not broken between a number and its unit.
    heads = (re.sub(r"(\d) ", "\\1\N{NO-BREAK SPACE}", column) for column in columns)
    yield _row("", "cells", (tag("small", head) for head in heads))
    for topic in topics:
        cells = {display.age(band.from_ms, band.to_ms): _cell(topic, band) for band in topic.ages if band.records > 0}
        yield _row(topic.name, "cells", (cells.get(column, tag("i")) for column in columns))


def _cell(topic: TopicFacts, band: AgeBand) -> Markup:
    share = band.records / sum(max(each.records, 0) for each in topic.ages)
    colour = f"{'hot' if band.to_ms is not None and band.to_ms <= 0 else 'heat'}-{bisect_right(_SHARES, share) + 1}"
    title = f"{topic.name}, {display.age(band.from_ms, band.to_ms)}: {display.count(band.records)} records, {share:.1%}"
    style = f"background:var(--{colour});color:var(--on-{colour})"
    return tag("i", display.short_count(band.records), title=title, style=style)


def _size_rows(topics: Sequence[TopicFacts]) -> Iterator[Markup]:
    """Yield two bars for each topic: the payload that was read, and the size on the disks of the leaders."""
    most = max(map(_largest, topics))
    for topic in topics:
        largest, sizes = _largest(topic), {"on disk": topic.log_bytes, "payload": topic.payload_bytes}
        words = [f"{display.size(size)} {what}" for what, size in sizes.items() if size is not None]
        bars = (
            tag("i", class_=what.removeprefix("on "), style=f"width:{size / largest:.2%}")
            for what, size in sizes.items()
            if size
        )
        pair = tag("span", *bars, title=f"{topic.name}: {', '.join(words)}", style=f"--share:{largest / most:.4f}")
        yield _row(topic.name, "bars", (pair, tag("small", words[0])))


def _skew_rows(topics: Sequence[TopicFacts]) -> Iterator[Markup]:
    """Yield a strip for each topic, with a dot for each partition at its records divided by the topic's mean."""
    top = max(1.2, *(topic.skew or 0 for topic in topics))
    ticks = _decimal_ticks(top)
    grid = f"--step:{ticks[1][0] / top:.2%}"
    for topic in topics:
        yield _row(topic.name, "strip", _strip(topic, top), grid)
    labels = (tag("small", f"{label}×", style=f"left:{tick / top:.2%}") for tick, label in ticks)
    yield _row("", "strip axis", labels)


def _strip(topic: TopicFacts, top: float) -> Iterator[Markup]:
    mean = (topic.records or 0) / len(topic.partitions)
    # A topic can have thousands of partitions.
    dots: dict[int, list[int]] = {}
    for partition in topic.partitions:
        position = round((partition.records or 0) / mean / top * _POSITIONS)
        dots.setdefault(position, []).append(partition.partition)
    yield tag("s", style=f"left:{1 / top:.2%}")
    for position, partitions in sorted(dots.items()):
        named = f"partition {partitions[0]}" if len(partitions) == 1 else f"{len(partitions)} partitions"
        title = f"{topic.name}, {named}: {position * top / _POSITIONS:.2f}× the mean"
        yield tag("i", title=title, style=f"left:{position / _POSITIONS:.2%}")
    fullest = max(topic.partitions, key=lambda each: each.records or 0)
    skew, at = topic.skew or 0, f"left:{(topic.skew or 0) / top:.2%}"
    title = (
        f"{topic.name}, partition {fullest.partition}: {display.count(fullest.records)} records, {skew:.2f}× the mean"
    )
    yield tag("b", title=title, style=at)
    yield tag("small", f"p{fullest.partition}", style=at)


def _largest(topic: TopicFacts) -> int:
    return max(topic.payload_bytes or 0, topic.log_bytes or 0)


def _decimal_ticks(top: float) -> list[tuple[float, str]]:
    """Return about ``_TICKS`` ticks up to ``top`` and their labels. The step is 1, 2 or 5 times a power of ten."""
    power = floor(log10(top / _TICKS))
    step = min((factor * 10.0**power for factor in (1, 2, 5, 10)), key=lambda each: abs(top / each - _TICKS))
    digits = max(0, -floor(log10(step)))
    return [(number * step, f"{number * step:.{digits}f}") for number in range(int(top / step) + 1)]


_LABEL: Final = "Topics by verdict, one column per audit; the same numbers are in the table below"


def trend(audits: Sequence[PastAudit]) -> Markup:
    """Return a column for each audit, the latest one last. Its height is its number of topics."""
    most = max(sum(each.topics.values()) for each in audits) or 1
    columns = (tag("span", *_parts(audit.topics, most, "height", WORST_FIRST)) for audit in audits)
    ends = (tag("span", display.timestamp(each.started)) for each in (audits[0], audits[-1]))
    drawn = tag("div", *columns, class_="trend", role="img", aria_label=_LABEL)
    width = f"max-width:max(20rem, {len(audits) * 4.5}rem)"
    return tag("div", drawn, tag("p", *ends, class_="ends"), class_="history", style=width)


def bar(topics: Mapping[Verdict, int]) -> Markup:
    """Return a bar of the shares of verdicts, the passes first."""
    parts = _parts(topics, sum(topics.values()), "width", WORST_FIRST[::-1])
    return tag("span", *parts, class_="bar", aria_hidden="true")


def _parts(topics: Mapping[Verdict, int], whole: int, side: str, order: Sequence[Verdict]) -> list[Markup]:
    return [
        tag("i", class_=verdict.value, style=f"{side}:{100 * topics[verdict] / whole:.2f}%")
        for verdict in order
        if topics.get(verdict)
    ]
