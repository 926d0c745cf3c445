"""The plots of a report, drawn at the widths that the page shows."""

from __future__ import annotations

from dataclasses import dataclass

import vl_convert
from markupsafe import Markup

from topicwarden.model.verdict import BY_WEIGHT
from topicwarden.report.audit import plots
from topicwarden.report.audit.digest import AuditDigest

_NARROW = 350
_WIDE = 1090
_HALF = 530


@dataclass(frozen=True)
class ReportFigure:
    """A plot at two widths, of which the page shows the one that fits; no drawing where there is no data."""

    id: str
    title: str
    reading: str
    nothing: str
    drawn: int
    eligible: int
    wide: Markup | None
    narrow: Markup | None


def figures(view: AuditDigest) -> list[ReportFigure]:
    """Age, size and skew; of equally bad topics the larger one says more."""
    weighed = [
        (BY_WEIGHT.index(topic.verdict), -(topic.facts.records or 0), topic.facts)
        for topic in view.topics
        if topic.facts
    ]
    topics = [facts for *_, facts in sorted(weighed, key=lambda item: item[:2])]
    aged, sized, skewed = plots.aged(topics), plots.sized(topics), plots.skewed(topics)
    with_ages = sum(any(band.records > 0 for band in topic.ages) for topic in topics)
    with_bytes = sum(bool(topic.payload_bytes or topic.log_bytes) for topic in topics)
    with_skew = sum(topic.skew is not None and len(topic.partitions) > 1 for topic in topics)
    return [
        ReportFigure(
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
        ReportFigure(
            "size",
            "Size of topics",
            "The thin bar is what the leaders hold on disk, the broad one the keys and values read, uncompressed.",
            "No bytes were read, so there are no sizes to show.",
            len(sized),
            with_bytes,
            _draw(plots.size(topics, _HALF)),
            _draw(plots.size(topics, _NARROW)),
        ),
        ReportFigure(
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
