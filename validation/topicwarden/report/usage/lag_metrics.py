"""Metrics of the lag of consumer groups, by topic and group.

Names of groups can be generated, such as those of console consumers. So their number is limited, and a metric has the
number of those left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from topicwarden.model.usage import UserKind
from topicwarden.model.usage_report import TopicUsage, TopicUser
from topicwarden.report.prometheus_text import Families, Table, families_of

MOST_LAGS: Final = 1_000
"""The number of pairs of a topic and a group that have series: those whose unread records are the oldest."""

_TopicLag: TypeAlias = tuple[str, TopicUser]
"""The name of a topic, and a group whose lag on it is known."""


def lag_families(topics: Iterable[TopicUsage]) -> Families:
    """Return the metrics of the groups that read ``topics``, by the name of the metric."""
    lags = [
        (topic.name, reader)
        for topic in topics
        for reader in topic.readers
        if reader.kind is UserKind.GROUP and reader.lag is not None
    ]
    lags.sort(key=_oldest_first)
    shown = sorted(lags[:MOST_LAGS], key=lambda lag: (lag[0], lag[1].name))
    return {
        **families_of(shown, _OF_LAGS, lambda lag: {"topic": lag[0], "group": lag[1].name}),
        "group_lags_left_out": (
            f"Pairs of a topic and a group without series of their own: only {MOST_LAGS:,} have them.",
            [({}, len(lags) - len(shown))],
        ),
    }


def _oldest_first(lag: _TopicLag) -> tuple[int, int, str, str]:
    topic, group = lag
    return -(group.lag_ms or 0), -(group.lag or 0), topic, group.name


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


_OF_LAGS: Final[Table[_TopicLag]] = {
    "group_lag_offsets": (
        "Offsets of a topic that a group has not read. Transaction markers and gaps count as well.",
        lambda lag: lag[1].lag,
    ),
    "group_lag_seconds": (
        "Age of the oldest record of a topic that a group has not read, by its timestamp.",
        lambda lag: _seconds(lag[1].lag_ms),
    ),
    "group_unread_expires_timestamp_seconds": (
        "Time from which retention.ms allows brokers to delete the oldest record that a group has not read.",
        lambda lag: _seconds(lag[1].expires_at),
    ),
}
