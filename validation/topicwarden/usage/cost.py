"""The growth of a topic, and its cost for a month of 30 days by the prices of the policies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.usage import DAY_MS, UseSample
from topicwarden.model.usage_report import Growth, UsageCost
from topicwarden.policies.usage_policy import CostPolicy

MONTH_DAYS: Final = 30
GIB: Final = 1 << 30
_SPAN_MS: Final = 30 * DAY_MS
"""The growth is the mean of this time, or of a shorter one if the topic has not been observed for so long."""
_SHORTEST_MS: Final = 3_600_000
_TIERED: Final = "remote.storage.enable"


def replica_bytes(live: LiveTopic) -> int | None:
    """Return the bytes on all replicas; None if one of them is unknown."""
    sizes = [
        live.extents[each.partition].replica_bytes if each.partition in live.extents else None for each in live.replicas
    ]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def tiered_bytes(live: LiveTopic) -> int | None:
    """Return 0 for a topic that has nothing in remote storage, else None: no request of Kafka reports that size.

    Source: KIP-405, KIP-963, whose sizes are metrics of brokers.
    """
    return 0 if live.sources and live.topic.config.get(_TIERED, "false") != "true" else None


def growth(samples: Iterable[UseSample], live: LiveTopic) -> Growth | None:
    """Return the mean growth per day of the last 30 days; None if there are no two samples an hour apart."""
    ordered = sorted(samples, key=lambda sample: sample.taken_at)
    if not ordered:
        return None
    last = ordered[-1]
    first = next(sample for sample in ordered if last.taken_at - sample.taken_at <= _SPAN_MS)
    span = last.taken_at - first.taken_at
    if span < _SHORTEST_MS:
        return None
    days = span / DAY_MS
    records = max(0, last.log_ends - first.log_ends) / days
    known = None not in (first.replica_bytes, last.replica_bytes)
    mean = _mean_size(live)
    return Growth(
        over_ms=span,
        records_per_day=round(records, 3),
        replica_bytes_per_day=round(((last.replica_bytes or 0) - (first.replica_bytes or 0)) / days, 3)
        if known
        else None,
        written_bytes_per_day=0.0 if not records else None if mean is None else round(records * mean, 3),
    )


def _mean_size(live: LiveTopic) -> float | None:
    """Return the mean bytes per offset on the leaders; None if it says nothing about what producers write.

    The offsets of a compacted topic include removed records, and those of a tiered topic are in remote storage as well.
    """
    if "compact" in (live.topic.config.get("cleanup.policy") or "") or tiered_bytes(live) is None:
        return None
    sizes = [extent.log_bytes for extent in live.extents.values()]
    offsets = sum(extent.end - extent.start for extent in live.extents.values())
    return None if None in sizes or not offsets else sum(size or 0 for size in sizes) / offsets


def cost(policy: CostPolicy, stored: int | None, tiered: int | None, growing: Growth | None) -> UsageCost:
    """Return the cost of a topic with ``stored`` bytes on all replicas and ``tiered`` bytes in remote storage."""
    written = growing.written_bytes_per_day if growing else None
    parts = {
        "storage": (policy.storage_gib_month, stored, "the brokers did not report all sizes"),
        "tiered": (policy.tiered_gib_month, tiered, "Kafka does not report sizes in remote storage"),
        "written": (
            policy.written_gib,
            None if written is None else written * MONTH_DAYS,
            "observations of two days are needed"
            if growing is None
            else "the mean size of records is unknown for a compacted, tiered or empty topic",
        ),
        "read": (policy.read_gib, None, "Kafka does not report how much clients read"),
    }
    amounts = {
        name: None if amount is None else amount / GIB * price for name, (price, amount, _) in parts.items() if price
    }
    known = [amount for amount in amounts.values() if amount is not None]
    return UsageCost(
        per_month=_rounded(sum(known)) if known else None,
        **{name: None if amount is None else _rounded(amount) for name, amount in amounts.items()},
        unknown=[f"{name}: {parts[name][2]}" for name, amount in amounts.items() if amount is None],
    )


def _rounded(amount: float) -> float:
    return round(amount, 4)
