"""Write ``usage.html``: one file without external resources, in the design of the audit's page."""

from __future__ import annotations

from typing import Final

from jinja2 import Environment

from topicwarden.model.usage_report import TopicUsage, UsageReport
from topicwarden.report import display
from topicwarden.report.page import filter_script
from topicwarden.report.page_environment import page_environment
from topicwarden.report.usage import digest as texts
from topicwarden.report.usage.digest import AttentionItem, digest

MAX_ITEMS: Final = 200
"""Number of items that need attention on the page. The JSON contains all."""
MAX_DETAILED: Final = 100
"""Number of topics with details, so that the page opens quickly. The JSON contains the details of all topics."""
MAX_SHARES: Final = 12
"""Number of owners and domains in the tables."""
MAX_USERS: Final = 100
"""Number of users of one topic on the page."""
TONES: Final = {"undeclared": "fail", "idle": "suspect", "unused": "suspect", "other": "pass"}
"""The colour of each word: that of a verdict on the audit's page."""


def render(report: UsageReport, audit: str = "") -> str:
    """Return the whole page. It sends no network requests, and only its filter needs JavaScript.

    ``audit`` is the page of the audit that made the report, to which this page leads back; empty for none.
    """
    view = digest(report)
    script, script_hash = filter_script()
    return _ENVIRONMENT.get_template("usage.html.j2").render(
        view=view,
        report=report,
        audit=audit,
        attention=view.attention[:MAX_ITEMS],
        omitted=max(0, len(view.attention) - MAX_ITEMS),
        anchors={topic.name: f"topic-{number}" for number, topic in enumerate(report.topics, start=1)},
        detailed=report.topics[:MAX_DETAILED],
        linked={topic.name for topic in report.topics[:MAX_DETAILED]},
        states=_states(report),
        notes=[*report.notes, *texts.cost_notes(report.topics)],
        groups=[("Owner", report.owners), ("Domain", report.domains)],
        shown_groups=MAX_SHARES,
        shown_users=MAX_USERS,
        tones=TONES,
        script=script,
        script_hash=script_hash,
    )


def _states(report: UsageReport) -> dict[str, str]:
    """Return the word of each topic by its name: ``undeclared`` before ``idle``, else ``other``."""
    undeclared = {use.topic for use in report.undeclared if use.access_declared}
    idle = {each.name for each in report.removable if each.kind == "topic"}
    return {
        topic.name: "undeclared" if topic.name in undeclared else "idle" if topic.name in idle else "other"
        for topic in report.topics
    }


def _search_text(topic: TopicUsage) -> str:
    """Return the text in which the page's filter searches. Bars separate the names, for searches of a whole name."""
    users = [user.name for user in (*topic.writers, *topic.readers)][:MAX_USERS]
    return display.one_line(f"|{'|'.join([topic.name, topic.domain, topic.owner, *users])}|").lower()


def _tone(item: AttentionItem) -> str:
    return "undecidable" if item.word.endswith("?") else TONES[item.word]


def _environment() -> Environment:
    environment = page_environment("topicwarden.report.usage", "topicwarden.report.audit")
    environment.filters |= {
        "money": texts.money,
        "growth": texts.growth_text,
        "interval": texts.interval_text,
        "size_of": texts.size_of,
        "kind_of": texts.user_kind,
        "declared": texts.declared_text,
        "principals": texts.principals_text,
        "lag": texts.lag_text,
        "day": texts.day,
        "tone": _tone,
        "search_text": _search_text,
        "joined": lambda values: texts.names(values, 5),
    }
    environment.globals |= {"recency": texts.recency}
    return environment


_ENVIRONMENT: Final = _environment()
