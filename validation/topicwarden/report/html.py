"""``report.html``: one file that needs nothing else, for a browser, a screen reader or a printer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from topicwarden.finding import BY_WEIGHT, AuditReport
from topicwarden.report import plots, units
from topicwarden.report.digest import SYMBOLS, Digest, TopicDigest, digest, time_span

# Rows of partitions that a page bears before it is slow to open; the rest are in report.json.
PARTITION_ROWS = 3_000

_NARROW = 350
_WIDE = 1090
_HALF = 530


@dataclass(frozen=True)
class Figure:
    """A plot at two widths, of which the page shows the one that fits; no drawing where there is no data."""

    id: str
    title: str
    reading: str
    nothing: str
    drawn: int
    eligible: int
    wide: Markup | None
    narrow: Markup | None


def render(report: AuditReport) -> str:
    """The whole page; it asks the network for nothing and runs no script."""
    view = digest(report)
    return _ENVIRONMENT.get_template("report.html.j2").render(
        view=view,
        report=report,
        weights=BY_WEIGHT,
        symbols=SYMBOLS,
        figures=_figures(view),
        tabled=_tabled(view),
        time_span=time_span,
        anchors={topic.name: f"topic-{number}" for number, topic in enumerate(view.topics, start=1)},
    )


def _figures(view: Digest) -> list[Figure]:
    # Of equally bad topics the larger one says more.
    weighed = [
        (BY_WEIGHT.index(topic.verdict), -topic.facts.records, topic.facts) for topic in view.topics if topic.facts
    ]
    topics = [facts for *_, facts in sorted(weighed, key=lambda item: item[:2])]
    aged, sized, skewed = plots.aged(topics), plots.sized(topics), plots.skewed(topics)
    with_ages = sum(any(band.records > 0 for band in topic.ages) for topic in topics)
    with_bytes = sum(bool(topic.payload_bytes or topic.log_bytes) for topic in topics)
    with_skew = sum(topic.skew is not None and len(topic.partitions) > 1 for topic in topics)
    return [
        Figure(
            "age",
            "Age of records",
            "Each row is a topic and each column an age: the stronger a cell's colour, the larger its share of the"
            " topic's records; red lies in the future, and a number counts records.",
            "No records were read, so there are no ages to show.",
            len(aged),
            with_ages,
            _draw(plots.age(topics, _WIDE)),
            _draw(plots.age(topics, _NARROW)),
        ),
        Figure(
            "size",
            "Size of topics",
            "The thin bar is what the leaders hold on disk, the broad one the keys and values read, uncompressed.",
            "No bytes were read, so there are no sizes to show.",
            len(sized),
            with_bytes,
            _draw(plots.size(topics, _HALF)),
            _draw(plots.size(topics, _NARROW)),
        ),
        Figure(
            "skew",
            "Skew of partitions",
            "Each dot is a partition at its records over its topic's mean (dashed, 1×); the named dot is the fullest.",
            "No topic has records and several partitions, so there is no skew to show.",
            len(skewed),
            with_skew,
            _draw(plots.skew(topics, _HALF)),
            _draw(plots.skew(topics, _NARROW)),
        ),
    ]


def _draw(spec: plots.Spec | None) -> Markup | None:
    # Vega escapes the texts of its SVG, so that it may stand in the page as it is.
    return None if spec is None else Markup(vl_convert.vegalite_to_svg(spec))


def _tabled(view: Digest) -> set[str]:
    """The topics whose partitions are shown one by one: worst first, as many as the page bears."""
    left, chosen = PARTITION_ROWS, set()
    for topic in view.topics:
        rows = len(topic.facts.partitions) if topic.facts else 0
        if rows <= left:
            chosen.add(topic.name)
            left -= rows
    return chosen


def _share(records: int, topic: TopicDigest) -> str:
    facts = topic.facts
    return units.times(records * len(facts.partitions) / facts.records if facts and facts.records else None)


def _shown(value: Any) -> Any:
    return units.printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("topicwarden.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": units.count,
        "size": units.size,
        "duration": units.duration,
        "moment": units.moment,
        "times": units.times,
        "numbers": units.numbers,
    }
    environment.globals |= {"age": units.age, "evidence": units.evidence, "span": units.span, "share": _share}
    return environment


_ENVIRONMENT = _environment()
