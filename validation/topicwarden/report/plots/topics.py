"""The plots of the age, the size and the skew of topics, as SVG.

Each plot function takes the topics that it shows and the width of the plot in pixels. Colours are CSS variables of the
page, so that the plots follow its colour scheme. Each mark has a title with the exact value, which browsers show as a
tooltip.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import cos, floor, inf, log10, radians, sin
from typing import Final

from topicwarden.model.finding import AgeBand, TopicFacts
from topicwarden.report import display
from topicwarden.report.document import Plot
from topicwarden.report.markup import Markup, tag

MAX_TOPICS = 20
"""Number of topics in a plot. The tables of the page contain all topics."""

_NARROW: Final = 480
_ROW: Final = 24
"""The height of a row, in pixels."""
_FONT: Final = 12.5
_CHARACTER: Final = 6.7
"""About the width of a character in a font of this size, in pixels."""
_AXIS: Final = 20
"""The height of an axis with its labels."""
_DOT_DISTANCE: Final = 3
_SLANT: Final = 50
"""The angle of the labels of columns on a narrow page, in degrees."""
_SHARES: Final = (0.01, 0.1, 0.25, 0.5)
"""Lower bounds of the colours: the share of the topic's records in an age band."""


_NARROW_PLOT: Final = 320
_WIDE_PLOT: Final = 1075
_HALF: Final = 510


def topic_plots(topics: Sequence[TopicFacts]) -> Iterator[Plot]:
    """Yield the plots of age, size and skew. ``topics`` begins with the most important."""
    shown = [topic.model_copy(update={"name": display.one_line(topic.name)}) for topic in topics]
    yield _plot(
        Plot(
            "age",
            "Age of records",
            "Each row is a topic, each column an age. A stronger colour means a larger share of the topic's records;"
            " red cells are timestamps in the future. The numbers are counts of records.",
            whole=True,
        ),
        [topic for topic in shown if any(band.records > 0 for band in topic.ages)],
        "the worst first",
        "No records were read, so there are no ages to show.",
        _age_plot,
    )
    yield _plot(
        Plot(
            "size",
            "Size of topics",
            "The thick bar shows the keys and values that were read, uncompressed. The thin bar shows the size on the"
            " disks of the leaders.",
        ),
        sorted(filter(_largest, shown), key=lambda topic: (-_largest(topic), topic.name)),
        "the largest",
        "No bytes were read, so there are no sizes to show.",
        _size_plot,
    )
    skewed = [topic for topic in shown if topic.skew is not None and len(topic.partitions) > 1]
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
        _skew_plot,
    )


def _plot(
    plot: Plot, topics: list[TopicFacts], order: str, empty: str, draw: Callable[[Sequence[TopicFacts], int], Markup]
) -> Plot:
    """Return ``plot`` with a drawing of its first topics at two widths, or with the caption ``empty``."""
    if not topics:
        return replace(plot, caption=empty)
    shown = topics[:MAX_TOPICS]
    more = f" The plot shows {len(shown)} of {len(topics):,} topics, {order}; the tables below contain all."
    caption = plot.caption + (more if len(shown) < len(topics) else "")
    wide = draw(shown, _WIDE_PLOT if plot.whole else _HALF)
    return replace(plot, caption=caption, wide=wide, narrow=draw(shown, _NARROW_PLOT))


def _age_plot(shown: Sequence[TopicFacts], width: int) -> Markup:
    """Return a heat map with topics as rows and age bands as columns. Dark cells have a large share of the records."""
    bands = sorted(
        {(band.from_ms, band.to_ms) for topic in shown for band in topic.ages},
        key=lambda band: (-inf if band[0] is None else band[0], inf if band[1] is None else band[1]),
    )
    columns = list(dict.fromkeys(display.age(*band) for band in bands))
    slant = _SLANT if width < _NARROW else 0
    left, right = _label_width(width), 0.0
    top = float(_AXIS)
    if slant:
        longest = max(map(len, columns)) * _CHARACTER
        top = longest * sin(radians(slant)) + _FONT
        right = max(0, len(columns[-1]) * _CHARACTER * cos(radians(slant)) - _FONT)
    step = (width - left - right) / len(columns)
    elements = [*_row_labels(shown, width, top)]
    for number, column in enumerate(columns):
        x, y = left + (number + 0.5) * step, top - 6
        elements.append(
            _label(x, y, column, anchor="start", transform=f"rotate(-{slant} {x:.1f} {y:.1f})")
            if slant
            else _label(x, y, column, anchor="middle")
        )
    for row, topic in enumerate(shown):
        for band in topic.ages:
            if band.records > 0:
                x = left + columns.index(display.age(band.from_ms, band.to_ms)) * step
                elements += _cell(topic, band, x, top + row * _ROW, step)
    return _drawing(width, top + len(shown) * _ROW + 2, elements)


def _cell(topic: TopicFacts, band: AgeBand, x: float, y: float, step: float) -> Iterator[Markup]:
    share = band.records / sum(max(each.records, 0) for each in topic.ages)
    colour = f"{'hot' if band.to_ms is not None and band.to_ms <= 0 else 'heat'}-{bisect_right(_SHARES, share) + 1}"
    title = f"{topic.name}, {display.age(band.from_ms, band.to_ms)}: {display.count(band.records)} records, {share:.1%}"
    yield tag(
        "rect",
        tag("title", title),
        class_="cell",
        x=x + 1,
        y=y + 1,
        width=step - 2,
        height=_ROW - 2,
        rx=2,
        fill=f"var(--{colour})",
    )
    if step >= 38:
        yield _label(
            x + step / 2, y + _middle(), display.short_count(band.records), anchor="middle", ink=f"on-{colour}"
        )


def _size_plot(shown: Sequence[TopicFacts], width: int) -> Markup:
    """Return nested bars: the payload that was read, and the size on the disks of the leaders."""
    left, bottom = _label_width(width), len(shown) * _ROW
    # After the longest bar, there is space for its label.
    scale = (width - left - 105) / max(map(_largest, shown))
    elements = [*_row_labels(shown, width, 0), _line(left, bottom, width, bottom)]
    elements += [
        _label(left + tick * scale, bottom + 15, display.size(tick).replace(".0 ", " "), "middle")
        for tick in _binary_ticks((width - left) / scale, 4)
    ]
    for row, topic in enumerate(shown):
        payload, disk = topic.payload_bytes, topic.log_bytes
        sizes = [f"{display.size(disk)} on disk"] if disk is not None else []
        sizes += [f"{display.size(payload)} payload"] if payload is not None else []
        title = f"{topic.name}: {', '.join(sizes)}"
        y = row * _ROW
        for size, thickness, colour in ((payload, 14, "payload"), (disk, 6, "accent")):
            if size:
                elements.append(
                    tag(
                        "rect",
                        tag("title", title),
                        x=left,
                        y=y + (_ROW - thickness) / 2,
                        width=size * scale,
                        height=thickness,
                        fill=f"var(--{colour})",
                    )
                )
        elements.append(_label(left + _largest(topic) * scale + 5, y + _middle(), sizes[0], "start"))
    return _drawing(width, bottom + _AXIS, elements)


def _skew_plot(shown: Sequence[TopicFacts], width: int) -> Markup:
    """Return a strip plot: one row per topic, one dot per partition at its records divided by the topic's mean."""
    left, bottom = _label_width(width), len(shown) * _ROW
    top = max(topic.skew or 0 for topic in shown)
    # After the rightmost dot, there is space for its label.
    scale = (width - left - 45) / max(top, 1.2)
    elements = [*_row_labels(shown, width, 0), _line(left, bottom, width, bottom)]
    for tick, label in _decimal_ticks((width - left) / scale, 4 if width < _NARROW else 6):
        x = left + tick * scale
        elements += [_line(x, 0, x, bottom), _label(x, bottom + 15, f"{label}×", "middle")]
    elements.append(_line(left + scale, 0, left + scale, bottom, stroke="var(--text)", stroke_dasharray="3 3"))
    for row, topic in enumerate(shown):
        elements += _strip(topic, left, row * _ROW + _ROW / 2, scale)
    return _drawing(width, bottom + _AXIS, elements)


def _strip(topic: TopicFacts, left: float, y: float, scale: float) -> Iterator[Markup]:
    mean = (topic.records or 0) / len(topic.partitions)
    distance = _DOT_DISTANCE / scale
    # Overlapping dots are drawn once, because a topic can have thousands of partitions.
    dots: dict[int, list[int]] = {}
    for partition in topic.partitions:
        dots.setdefault(round((partition.records or 0) / mean / distance), []).append(partition.partition)
    for position, partitions in sorted(dots.items()):
        named = f"partition {partitions[0]}" if len(partitions) == 1 else f"{len(partitions)} partitions"
        title = tag("title", f"{topic.name}, {named}: {position * distance:.2f}× the mean")
        x = left + position * distance * scale
        yield tag("circle", title, cx=x, cy=y, r=3.3, fill="var(--accent)", fill_opacity="0.5")
    fullest = max(topic.partitions, key=lambda each: each.records or 0)
    title = tag(
        "title",
        f"{topic.name}, partition {fullest.partition}: {display.count(fullest.records)} records, "
        f"{topic.skew or 0:.2f}× the mean",
    )
    x = left + (topic.skew or 0) * scale
    yield tag("circle", title, cx=x, cy=y, r=4.4, fill="var(--suspect)")
    yield _label(x + 8, y + _middle() - _ROW / 2, f"p{fullest.partition}", "start")


def _row_labels(topics: Sequence[TopicFacts], width: int, top: float) -> Iterator[Markup]:
    """Yield the names of the rows. Long names are cut in the middle, because names often differ only at their ends."""
    right = _label_width(width) - 8
    for row, topic in enumerate(topics):
        name = display.shorten(topic.name, int(right / 7.8))
        y = top + row * _ROW + _middle()
        yield _label(right, y, name, "end", "text", title=topic.name)


def _label(
    x: float,
    y: float,
    text: str,
    anchor: str,
    ink: str = "muted",
    *,
    transform: str | None = None,
    title: str | None = None,
) -> Markup:
    tooltip = [tag("title", title)] if title and title != text else []
    fill, position = f"var(--{ink})", {"text_anchor": anchor, "transform": transform}
    return tag("text", *tooltip, text, x=x, y=y, font_size=_FONT, fill=fill, **position)


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str = "var(--line)", **style: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **style)


def _middle() -> float:
    """Return the distance from the top of a row to the base line of text in its middle."""
    return _ROW / 2 + _FONT * 0.35


def _label_width(width: int) -> int:
    return 128 if width < _NARROW else 190


def _largest(topic: TopicFacts) -> int:
    return max(topic.payload_bytes or 0, topic.log_bytes or 0)


def _binary_ticks(top: float, count: int) -> list[int]:
    """Return about ``count`` ticks up to ``top`` bytes. The step is a power of two, for round labels in IEC units."""
    step = 1
    while step * count < top:
        step *= 2
    return [step * number for number in range(int(top // step) + 1)]


def _decimal_ticks(top: float, count: int) -> list[tuple[float, str]]:
    """Return about ``count`` ticks up to ``top`` and their labels. The step is 1, 2 or 5 times a power of ten."""
    power = floor(log10(top / count))
    step = min((factor * 10.0**power for factor in (1, 2, 5, 10)), key=lambda each: abs(top / each - count))
    digits = max(0, -floor(log10(step)))
    return [(number * step, f"{number * step:.{digits}f}") for number in range(int(top / step) + 1)]


def _drawing(width: float, height: float, elements: Iterable[Markup]) -> Markup:
    """Return an ``svg`` element of a size in pixels, which scales with its place on the page."""
    box = f"0 0 {width:g} {height:.1f}"
    return tag("svg", *elements, xmlns="http://www.w3.org/2000/svg", viewBox=box, width=width, height=height)
