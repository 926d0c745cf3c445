"""The borders, on a log made by hand: a stand-in answers ListOffsets by time as a broker does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import pytest

from topicwarden.audit.collect.horizon import Horizon, horizons
from topicwarden.kafka.cluster import Cluster
from topicwarden.kafka.snapshot import LiveTopic, PartitionExtent, Snapshot
from topicwarden.model.topic import Topic

NOW = 1_800_000_000_000
INTERVAL = 300_000


class Log:
    """Timestamps by offset; stands in for ``Cluster`` where it answers for one partition.

    Each record is a batch of its own, unless ``batches`` says where batches begin.
    """

    def __init__(self, *timestamps: int, batches: tuple[int, ...] | None = None) -> None:
        self.timestamps = timestamps
        self.batches = batches or tuple(range(len(timestamps)))

    def batch_starts(self, _: Snapshot, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        return {place: max(start for start in self.batches if start <= at) for place, at in offsets.items()}

    def batch_timestamps(self, _: Snapshot, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        starts = self.batch_starts(_, offsets)
        return {place: max(self.timestamps[starts[place] : at + 1]) for place, at in offsets.items()}

    def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
        return {
            place: next((offset, stamp) for offset, stamp in enumerate(self.timestamps) if stamp >= time)
            for place, time in times.items()
            if any(stamp >= time for stamp in self.timestamps)
        }


def horizon(log: Log, last_stable: int | None = None, /, **config: str) -> Horizon:
    settings = {"cleanup.policy": "delete", "segment.ms": "100"} | {
        name.replace("_", "."): value for name, value in config.items()
    }
    end = len(log.timestamps)
    latest = max(log.timestamps)
    extent = PartitionExtent(
        0, end, end if last_stable is None else last_stable, latest, log.timestamps.index(latest), None
    )
    live = LiveTopic(Topic("t", 1, 1, settings), "id", {}, (), {0: extent})
    found = horizons(cast(Cluster, log), Snapshot(None, NOW, {}, {1: {}}, {}), [live])
    return found["t", 0]


def test_what_came_more_than_a_roll_before_the_youngest_has_rolled() -> None:
    assert horizon(Log(NOW - 9_000, NOW - 8_000, NOW - 100, NOW)).rolled == 2


def test_a_batch_that_spans_more_than_a_roll_is_still_one_batch() -> None:
    """Found on a real broker: 240 back-filled records an hour apart, one batch, one segment of a day."""
    hours = [NOW - (240 - number) * 3_600_000 for number in range(240)]
    assert horizon(Log(*hours, batches=(0,)), segment_ms="86400000").rolled == 0
    assert horizon(Log(*hours, batches=(0, 100, 230)), segment_ms="86400000").rolled == 100


def test_an_idle_partition_never_rolls() -> None:
    assert horizon(Log(NOW - 900_000_000, NOW - 900_000_000)).rolled == 0


def test_an_old_record_behind_a_young_one_proves_nothing_new() -> None:
    """``M(o)`` is a maximum: back-dated records do not un-roll, nor certify, what lies before them."""
    assert horizon(Log(NOW - 9_000, NOW, NOW - 8_000)).rolled == 1


def test_compaction_lag_shortens_the_roll_of_a_compacted_topic_only() -> None:
    log = Log(NOW - 5_000, NOW)
    slow = {"segment_ms": "60000", "max_compaction_lag_ms": "100"}
    assert horizon(log, None, **slow).rolled == 0
    assert horizon(log, None, cleanup_policy="compact", **slow).rolled == 1


@pytest.mark.parametrize(("stable", "cleanable", "by"), [(4, 3, None), (1, 1, "an open transaction")])
def test_an_open_transaction_holds_back_the_cleaner(stable: int, cleanable: int, by: str | None) -> None:
    log = Log(NOW - 9_000, NOW - 8_000, NOW - 7_000, NOW)
    found = horizon(log, stable, cleanup_policy="compact")
    assert (found.cleanable, found.blocked_by) == (cleanable, by)


def test_an_open_transaction_holds_back_the_segment_that_it_begins_in() -> None:
    """Found on a broker: the last stable offset was 38, and the cleaner went up to 28, where that segment began."""
    log = Log(NOW - 90_000, NOW - 9_000, NOW - 8_000, NOW - 7_000, NOW)
    found = horizon(log, 3, cleanup_policy="compact", segment_ms="5000")
    assert (found.rolled, found.cleanable, found.blocked_by) == (4, 1, "an open transaction")


def test_min_compaction_lag_holds_back_the_cleaner() -> None:
    log = Log(NOW - 90_000, NOW - 30_000, NOW)
    found = horizon(log, cleanup_policy="compact", min_compaction_lag_ms="60000")
    assert (found.rolled, found.cleanable, found.blocked_by) == (2, 1, "min.compaction.lag.ms")


def test_overdue_needs_both_the_roll_and_the_brokers_look() -> None:
    retention = 60_000
    gone = NOW - retention - INTERVAL - 10_000  # and so rolled since: 30 s and now came later
    found = horizon(Log(gone, gone + 1, NOW - 30_000, NOW), retention_ms=str(retention))
    assert found.overdue == 2
    idle = horizon(Log(gone, gone + 1), retention_ms=str(retention))
    assert idle.overdue == 0


def test_the_future_is_where_the_clock_has_not_been() -> None:
    found = horizon(Log(NOW + 1_800_000, NOW - 9_000_000), retention_ms="60000")
    assert (found.future_offset, found.future_timestamp, found.unexpired) == (0, NOW + 1_800_000, 0)


class Emptied(Log):
    """Begins with a batch that the cleaner emptied, in a segment of its own, stamped ``hidden`` milliseconds ago: of
    anything older than that, a broker says that there is none.
    """

    hidden = 350_000

    def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
        return super().first_offsets_at({place: time for place, time in times.items() if time > NOW - self.hidden})


def test_where_the_broker_contradicts_itself_nothing_is_proven() -> None:
    stamps = NOW - 900_000, NOW - 600_000, NOW
    lag = {"cleanup_policy": "compact", "min_compaction_lag_ms": "60000", "segment_ms": "300000"}
    assert horizon(Log(*stamps), **lag).cleanable == 2
    found = horizon(Emptied(*stamps), **lag)
    assert (found.rolled, found.cleanable) == (2, 0), "young records may lie anywhere"
    kept = {"cleanup_policy": "compact,delete", "retention_ms": "60000"}
    assert horizon(Log(*stamps), **kept).unexpired == 2
    assert horizon(Emptied(*stamps), **kept).unexpired == 0, "not everything has expired"
