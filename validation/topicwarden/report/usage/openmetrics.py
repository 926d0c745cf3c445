"""Write ``usage.prom``, the use and the cost of topics as metrics for Prometheus; see ``prometheus_text``.

The labels have topics, owners and domains, and a limited number of groups: see ``lag_metrics``. There can be any number
of principals and hosts: no label has one.

Names of groups can be generated, such as those of console consumers. So their number is limited, and a metric has the
number of those left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from topicwarden.model.usage import UseAction, UserKind
from topicwarden.model.usage_report import CostShare, TopicUsage, TopicUser, UsageReport, UsedBetween
from topicwarden.report.prometheus_text import Families, Sample, Table, families_of, metrics_text
from topicwarden.report.usage.digest import NOUNS, UNUSED, undeclared

_YES_OR_NO: Final = {True: "yes", False: "no", None: "unknown"}


def render(report: UsageReport) -> str:
    """Return the metrics of ``report``. Equal reports have equal texts."""
    return metrics_text(report.stack, families(report))


def families(report: UsageReport) -> Families:
    """Return what each metric means and its series, by the name of the metric."""
    topics = sorted(report.topics, key=lambda topic: topic.name)
    uses = Counter(use.action for use in undeclared(report))
    removable = Counter[tuple[str, bool]]((each.kind, each.proven) for each in report.removable)
    currency = {} if report.currency is None else {"currency": report.currency}
    return {
        "usage_observed_timestamp_seconds": ("Time of the last observation of use.", [({}, report.taken_at / 1000)]),
        "usage_undeclared": (
            "Uses that no declared access of a topic allows.",
            [({"action": action.value}, uses[action]) for action in UseAction],
        ),
        "usage_removable": (
            "Topics, groups and ACLs that nobody uses, or that nobody was seen to use, which is no proof.",
            [
                ({"kind": kind, "proven": _YES_OR_NO[proven]}, removable[kind, proven])
                for kind in NOUNS
                for proven in UNUSED
            ],
        ),
        "topic_users": ("Readers and writers of a topic, by declaration.", _users(topics)),
        **families_of(topics, _OF_TOPICS, lambda topic: {"topic": topic.name}),
        **lag_families(topics),
        "topic_cost_per_month": (
            "Known cost of a topic for 30 days.",
            (
                ({"topic": topic.name, **currency}, topic.cost.per_month)
                for topic in topics
                if topic.cost and topic.cost.per_month is not None
            ),
        ),
        "owner_cost_per_month": (
            "Known cost of an owner's topics for 30 days.",
            _shares("owner", report.owners, currency),
        ),
        "domain_cost_per_month": (
            "Known cost of a domain's topics for 30 days.",
            _shares("domain", report.domains, currency),
        ),
    }


def _users(topics: Iterable[TopicUsage]) -> Iterator[Sample]:
    for topic in topics:
        users = Counter((user.action, user.declared) for user in (*topic.writers, *topic.readers))
        for (action, declared), number in sorted(users.items(), key=lambda item: (item[0][0], str(item[0][1]))):
            yield {"topic": topic.name, "action": action.value, "declared": _YES_OR_NO[declared]}, number


def _until(last: UsedBetween | None) -> float | None:
    return None if last is None else last.until / 1000


def _shares(label: str, shares: Iterable[CostShare], currency: dict[str, str]) -> Iterator[Sample]:
    for share in sorted(shares, key=lambda each: each.name):
        yield {label: share.name, **currency}, share.cost_per_month


_OF_TOPICS: Final[Table[TopicUsage]] = {
    "topic_replica_bytes": ("Logs of a topic on the disks of all replicas.", lambda topic: topic.replica_bytes),
    "topic_tiered_bytes": ("Logs of a topic in remote storage.", lambda topic: topic.tiered_bytes),
    "topic_replica_growth_bytes_per_day": (
        "Change of a topic's bytes on all replicas per day.",
        lambda topic: topic.growth.replica_bytes_per_day if topic.growth else None,
    ),
    "topic_written_bytes_per_day": (
        "Bytes that producers write per day, an estimate.",
        lambda topic: topic.growth.written_bytes_per_day if topic.growth else None,
    ),
    "topic_last_write_timestamp_seconds": (
        "Latest time at which the last write of a topic can have been.",
        lambda topic: _until(topic.last_written),
    ),
    "topic_last_read_timestamp_seconds": (
        "Latest time at which the last commit or active reader of a topic can have been.",
        lambda topic: _until(topic.last_read),
    ),
}


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
