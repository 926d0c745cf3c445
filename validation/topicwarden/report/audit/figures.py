"""The plots of the HTML page, rendered at the widths that the page needs."""

from __future__ import annotations

import re
from dataclasses import dataclass

import vl_convert
from markupsafe import Markup

from topicwarden.model.verdict import BY_WEIGHT
from topicwarden.report.audit import plots
from topicwarden.report.audit.digest import AuditDigest
from topicwarden.report.display import one_line

_TAG = re.compile(r"<[^>]*>")
_LONG_FRACTION = re.compile(r"(\d\.\d)\d+")
_NARROW = 350
_WIDE = 1090
_HALF = 530


@dataclass(frozen=True)
class ReportFigure:
    """A plot at two widths; the page shows the width that fits the screen.

    ``caption`` explains the plot; ``empty_caption`` replaces it if there is no data. ``drawn`` of ``eligible`` topics
    are in the plot. Without data, ``wide`` and ``narrow`` are None.
    """

    id: str
    title: str
    caption: str
    empty_caption: str
    drawn: int
    eligible: int
    wide: Markup | None
    narrow: Markup | None


def figures(view: AuditDigest) -> list[ReportFigure]:
    """Return the plots of age, size and skew. The worst topics come first; with equal verdicts, the largest."""
    ranked = [
        (BY_WEIGHT.index(topic.verdict), -(topic.facts.records or 0), topic.facts)
        for topic in view.topics
        if topic.facts
    ]
    topics = [
        facts.model_copy(update={"name": one_line(facts.name)})  # Vega does not parse every character
        for *_, facts in sorted(ranked, key=lambda item: item[:2])
    ]

    with_ages = sum(any(band.records > 0 for band in topic.ages) for topic in topics)
    with_bytes = sum(bool(topic.payload_bytes or topic.log_bytes) for topic in topics)
    with_skew = sum(topic.skew is not None and len(topic.partitions) > 1 for topic in topics)
    return [
        ReportFigure(
            "age",
            "Age of records",
            "Each row is a topic, each column an age. A stronger colour means a larger share of the topic's records;"
            " red cells are timestamps in the future. The numbers are counts of records.",
            "No records were read, so there are no ages to show.",
            len(plots.age_topics(topics)),
            with_ages,
            _svg(plots.age_plot(topics, _WIDE)),
            _svg(plots.age_plot(topics, _NARROW)),
        ),
        ReportFigure(
            "size",
            "Size of topics",
            "The thick bar shows the keys and values that were read, uncompressed. The thin bar shows the size on the"
            " disks of the leaders.",
            "No bytes were read, so there are no sizes to show.",
            len(plots.size_topics(topics)),
            with_bytes,
            _svg(plots.size_plot(topics, _HALF)),
            _svg(plots.size_plot(topics, _NARROW)),
        ),
        ReportFigure(
            "skew",
            "Skew of partitions",
            "Each dot is a partition. Its position is its number of records divided by the topic's mean (the dashed"
            " line at 1×). The partition with the most records is labelled.",
            "No topic has records and several partitions, so there is no skew to show.",
            len(plots.skew_topics(topics)),
            with_skew,
            _svg(plots.skew_plot(topics, _HALF)),
            _svg(plots.skew_plot(topics, _NARROW)),
        ),
    ]


def _svg(spec: plots.Spec | None) -> Markup | None:
    # Vega escapes all text in its SVG, so the page can include the SVG unescaped.
    return None if spec is None else Markup(_TAG.sub(_rounded, vl_convert.vegalite_to_svg(spec)))


def _rounded(tag: re.Match[str]) -> str:
    """Return the tag with one decimal in its coordinates. Vega writes up to 17, most of the page's size."""
    return _LONG_FRACTION.sub(r"\1", tag[0])
