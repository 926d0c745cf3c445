"""The plots of the HTML page, rendered at the widths that the page needs."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from topicwarden.model.verdict import WORST_FIRST
from topicwarden.report.audit import plots
from topicwarden.report.audit.digest import AuditDigest
from topicwarden.report.display import one_line

_NARROW = 320
_WIDE = 1075
_HALF = 510


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
        (WORST_FIRST.index(topic.verdict), -(topic.facts.records or 0), topic.facts)
        for topic in view.topics
        if topic.facts
    ]
    topics = [
        facts.model_copy(update={"name": one_line(facts.name)})
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
            plots.age_plot(topics, _WIDE),
            plots.age_plot(topics, _NARROW),
        ),
        ReportFigure(
            "size",
            "Size of topics",
            "The thick bar shows the keys and values that were read, uncompressed. The thin bar shows the size on the"
            " disks of the leaders.",
            "No bytes were read, so there are no sizes to show.",
            len(plots.size_topics(topics)),
            with_bytes,
            plots.size_plot(topics, _HALF),
            plots.size_plot(topics, _NARROW),
        ),
        ReportFigure(
            "skew",
            "Skew of partitions",
            "Each dot is a partition. Its position is its number of records divided by the topic's mean (the dashed"
            " line at 1×). The partition with the most records is labelled.",
            "No topic has records and several partitions, so there is no skew to show.",
            len(plots.skew_topics(topics)),
            with_skew,
            plots.skew_plot(topics, _HALF),
            plots.skew_plot(topics, _NARROW),
        ),
    ]
