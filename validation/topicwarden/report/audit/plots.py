"""The plots of a report, as Vega-Lite specifications, one a function.

Each takes the topics in the order in which they matter, and the width in pixels of the whole plot; and gives None
where there is nothing to draw. Colours are CSS variables of the page, so that a plot follows its colour scheme.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from math import inf
from typing import Any

from topicwarden.model.finding import TopicFacts
from topicwarden.report import display

Spec = dict[str, Any]

SHOWN = 20
"""How many topics a plot holds; a table holds all."""

_NARROW = 480
_DOTS_APART = 3
# A band's share of its topic's records at which the next darker colour starts.
_TONES = (0.01, 0.1, 0.25, 0.5)


def aged(topics: Sequence[TopicFacts]) -> list[TopicFacts]:
    """The topics that ``age`` draws: the first ones with records."""
    return [topic for topic in topics if any(band.records > 0 for band in topic.ages)][:SHOWN]


def sized(topics: Sequence[TopicFacts]) -> list[TopicFacts]:
    """The topics that ``size`` draws: the largest."""
    return sorted((t for t in topics if _largest(t)), key=lambda t: (-_largest(t), t.name))[:SHOWN]


def skewed(topics: Sequence[TopicFacts]) -> list[TopicFacts]:
    """The topics that ``skew`` draws: the most uneven of those with several partitions and records in them."""
    uneven = [(topic.skew, topic) for topic in topics if len(topic.partitions) > 1]
    ranked = sorted(((skew, t) for skew, t in uneven if skew is not None), key=lambda pair: (-pair[0], pair[1].name))
    return [topic for _, topic in ranked[:SHOWN]]


def age(topics: Sequence[TopicFacts], width: int) -> Spec | None:
    """A heat map: a row a topic, a column an age band, dark where most of the topic's records are."""
    shown = aged(topics)
    bands = sorted(
        {(band.from_ms, band.to_ms) for topic in shown for band in topic.ages},
        key=lambda band: (-inf if band[0] is None else band[0], inf if band[1] is None else band[1]),
    )
    columns = list(dict.fromkeys(display.age(*band) for band in bands))
    cells = []
    for topic in shown:
        total = sum(max(band.records, 0) for band in topic.ages)
        for band in topic.ages:
            if band.records > 0:
                tone = bisect_right(_TONES, band.records / total) + 1
                heat = "hot" if band.to_ms is not None and band.to_ms <= 0 else "heat"
                cells.append(
                    {
                        "topic": topic.name,
                        "band": display.age(band.from_ms, band.to_ms),
                        "fill": f"var(--{heat}-{tone})",
                        "ink": f"var(--on-{heat}-{tone})",
                        "label": display.brief(band.records),
                    }
                )
    if not cells:
        return None
    narrow = width < _NARROW
    x: Spec = {
        "field": "band",
        "type": "nominal",
        "scale": {"domain": columns, "paddingInner": 0.04, "paddingOuter": 0},
        "axis": {"title": None, "orient": "top", "domain": False, "ticks": False, "labelLimit": 130, "labelPadding": 6}
        | ({"labelAngle": -50, "labelAlign": "left"} if narrow else {"labelAngle": 0}),
    }
    y = _rows([topic.name for topic in shown], width) | {"scale": {"paddingInner": 0.1, "paddingOuter": 0}}
    cell: Spec = {"mark": {"type": "rect", "cornerRadius": 2}, "encoding": {"fill": _literal("fill")}}
    label: Spec = {
        "mark": {"type": "text", "fontSize": 11},
        "encoding": {"text": {"field": "label"}, "fill": _literal("ink")},
    }
    roomy = (width - _label_width(width)) / len(columns) >= 38
    return _plot(width, 24, cells, {"encoding": {"x": x, "y": y}, "layer": [cell, label] if roomy else [cell]})


def size(topics: Sequence[TopicFacts], width: int) -> Spec | None:
    """Nested bars: the payload read, and within or beyond it the bytes on the leaders' disks."""
    shown = sized(topics)
    if not shown:
        return None
    rows = []
    for topic in shown:
        disk = topic.log_bytes
        label = f"{display.size(disk)} on disk" if disk is not None else f"{display.size(topic.payload_bytes)} payload"
        rows.append(
            {
                "topic": topic.name,
                "payload": topic.payload_bytes or 0,
                "disk": disk,
                "largest": _largest(topic),
                "label": label,
            }
        )
    # Room for the label behind the longest bar.
    plot = width - _label_width(width)
    domain = [0, max(_largest(topic) for topic in shown) * plot / (plot - 105)]
    ticks = _binary_ticks(domain[1], 4)
    labels = {str(at): display.size(at).replace(".0 ", " ") for at in ticks}
    axis = {"title": None, "values": ticks, "labelExpr": _lookup(labels), "ticks": False} | {
        "labelFlush": False,
        "grid": False,
    }

    def bar(field: str, thickness: int, colour: str) -> Spec:
        x = {"field": field, "type": "quantitative", "scale": {"domain": domain, "nice": False}, "axis": axis}
        return {"mark": {"type": "bar", "height": thickness, "fill": f"var(--{colour})"}, "encoding": {"x": x}}

    caption = {
        "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 11, "fill": "var(--muted)"},
        "encoding": {"x": {"field": "largest", "type": "quantitative"}, "text": {"field": "label"}},
    }
    layers = [bar("payload", 14, "payload"), bar("disk", 6, "accent"), caption]
    return _plot(width, 24, rows, {"encoding": {"y": _rows([t.name for t in shown], width)}, "layer": layers})


def skew(topics: Sequence[TopicFacts], width: int) -> Spec | None:
    """A strip a topic: a dot a partition, at its records over the mean of its topic's partitions."""
    shown = skewed(topics)
    if not shown:
        return None
    dots, peaks = [], []
    top = max(topic.skew or 0 for topic in shown)
    apart = top / width * _DOTS_APART
    for topic in shown:
        mean = (topic.records or 0) / len(topic.partitions)
        # Dots that nearly cover one another are drawn once: a topic may have thousands of partitions.
        places = sorted({round((p.records or 0) / mean / apart) for p in topic.partitions})
        dots += [{"topic": topic.name, "share": place * apart} for place in places]
        fullest = max(topic.partitions, key=lambda p: p.records or 0)
        peaks.append({"topic": topic.name, "share": topic.skew, "label": f"p{fullest.partition}"})
    plot = width - _label_width(width)
    x: Spec = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, max(top, 1.2) * plot / (plot - 45)], "nice": False},
        "axis": {
            "title": None,
            "tickCount": 4 if width < _NARROW else 6,
            "labelExpr": "datum.label + '×'",
            "ticks": False,
            "labelFlush": False,
        },
    }
    rule = {"mark": {"type": "rule", "stroke": "var(--text)", "strokeDash": [3, 3]}, "encoding": {"x": {"datum": 1.0}}}
    y = {"y": _rows([topic.name for topic in shown], width)}
    strip = {
        "mark": {
            "type": "point",
            "filled": True,
            "size": 34,
            "fill": "var(--accent)",
            "fillOpacity": 0.5,
            "strokeWidth": 0,
        },
        "encoding": {"x": x} | y,
    }
    peak = {
        "data": {"values": peaks},
        "mark": {
            "type": "point",
            "filled": True,
            "size": 60,
            "fill": "var(--suspect)",
            "fillOpacity": 1,
            "strokeWidth": 0,
        },
        "encoding": {"x": x} | y,
    }
    name = {
        "data": {"values": peaks},
        "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 11, "fill": "var(--muted)"},
        "encoding": {"x": x, "text": {"field": "label"}} | y,
    }
    return _plot(width, 24, dots, {"layer": [rule, strip, peak, name]})


def _plot(width: int, step: int, values: list[Spec], content: Spec) -> Spec:
    font = "system-ui, sans-serif"
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "data": {"values": values},
        "width": width,
        "height": {"step": step},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2, "right": 2, "top": 2, "bottom": 2},
        "background": None,
        **content,
        "config": {
            "font": font,
            "view": {"stroke": None},
            "mark": {"aria": False},
            "axis": {
                "aria": False,
                "labelColor": "var(--muted)",
                "labelFontSize": 11,
                "gridColor": "var(--line)",
                "domainColor": "var(--line)",
            },
        },
    }


def _rows(names: list[str], width: int) -> Spec:
    """The axis of topics; long names are cut in the middle, as many differ at their ends only."""
    room = _label_width(width)
    columns = int((room - 8) / 6.9)
    labels = {name: display.shorten(display.one_line(name), columns) for name in names}
    axis = {"title": None, "labelExpr": _lookup(labels), "labelColor": "var(--text)", "labelLimit": 0, "ticks": False}
    return {
        "field": "topic",
        "type": "nominal",
        "sort": names,
        "axis": axis | {"domain": False, "labelPadding": 8, **_extent(room)},
    }


def _label_width(width: int) -> int:
    return 128 if width < _NARROW else 190


def _extent(room: int) -> Spec:
    # Fixed, as the fonts that Vega measures with are not the reader's.
    return {"minExtent": room, "maxExtent": room}


def _literal(field: str) -> Spec:
    return {"field": field, "type": "nominal", "scale": None}


def _lookup(labels: dict[str, str]) -> str:
    """A Vega expression that gives an axis value's label; JSON is a literal of that language."""
    return f"({json.dumps(labels)})[datum.value]"


def _largest(topic: TopicFacts) -> int:
    return max(topic.payload_bytes or 0, topic.log_bytes or 0)


def _binary_ticks(top: float, wanted: int) -> list[int]:
    """About ``wanted`` round byte counts up to ``top``: a power of two apart, so that they read well in IEC units."""
    step = 1
    while step * wanted < top:
        step *= 2
    return [step * number for number in range(int(top // step) + 1)]
