"""Write the report of a command on several stacks as one page without external resources and without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from topicwarden.model.fleet_report import COULD_NOT_RUN, FleetReport
from topicwarden.report.fleet.digest import TITLES, headline, omitted, sections, topic_names, value_of
from topicwarden.report.page_environment import page_environment

_MOST_ROWS: Final = 500
"""Number of differences of each kind on the page."""
_MOST_TOPICS: Final = 20
_TONES: Final = {0: "pass", 3: "undecidable", 1: "fail", COULD_NOT_RUN: "fail"}

_ENVIRONMENT: Final = page_environment("topicwarden.report.fleet", "topicwarden.report.audit")


def render(report: FleetReport, pages: Mapping[str, str]) -> str:
    """Return the whole page. ``pages`` are the pages of single stacks, relative to this one."""
    return _ENVIRONMENT.get_template("fleet.html.j2").render(
        report=report,
        headline=headline(report),
        tones=_TONES,
        pages=pages,
        titles=TITLES,
        sections=list(sections(report, _MOST_ROWS)),
        value_of=value_of,
        topic_names=lambda row: topic_names(row, _MOST_TOPICS),
        omitted=lambda number: omitted(number, "fleet.json"),
    )
