"""Test bounds that brokers prove: the offsets of the horizon, and the lower bound of the dirty ratio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest

from tests.support.subjects import counted, subject
from tests.unit.checks.cases import COMPACT, extent, with_logs
from topicwarden.audit.audited_topic import AuditedTopic, ReadRecords
from topicwarden.audit.checks.common.superseded_reasons import dirty_ratio
from topicwarden.audit.collect.horizon import CLOCK_MS, Horizon, horizons
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, Snapshot
from topicwarden.model.topic import Topic

# The horizon's offsets on a log built by hand, which answers ListOffsets by time as a broker does.

NOW = 1_800_000_000_000
INTERVAL = 300_000


class Log:
    """Replace ``Cluster`` for one partition, with the given timestamps by offset.

    Each record is its own batch, unless ``batches`` lists the offsets where batches begin.
    """

    def __init__(self, *timestamps: int, batches: tuple[int, ...] | None = None) -> None:
        self.timestamps = timestamps
        self.batches = batches or tuple(range(len(timestamps)))

    def batch_starts(self, _: Snapshot, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        return {
            topic_partition: max(start for start in self.batches if start <= at)
            for topic_partition, at in offsets.items()
        }

    def batch_timestamps(self, _: Snapshot, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        starts = self.batch_starts(_, offsets)
        return {
            topic_partition: max(self.timestamps[starts[topic_partition] : at + 1])
            for topic_partition, at in offsets.items()
        }

    def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
        return {
            topic_partition: next((offset, stamp) for offset, stamp in enumerate(self.timestamps) if stamp >= time)
            for topic_partition, time in times.items()
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


def test_records_older_than_one_roll_have_rolled() -> None:
    assert horizon(Log(NOW - 9_000, NOW - 8_000, NOW - 100, NOW)).rolled == 2


def test_a_batch_that_spans_more_than_a_roll_is_still_one_batch() -> None:
    """Found on a real broker: 240 back-filled records, one hour apart, are one batch in one segment of a day."""
    hours = [NOW - (240 - number) * 3_600_000 for number in range(240)]
    assert horizon(Log(*hours, batches=(0,)), segment_ms="86400000").rolled == 0
    assert horizon(Log(*hours, batches=(0, 100, 230)), segment_ms="86400000").rolled == 100


def test_an_idle_partition_never_rolls() -> None:
    assert horizon(Log(NOW - 900_000_000, NOW - 900_000_000)).rolled == 0


def test_an_old_record_behind_a_young_one_proves_nothing_new() -> None:
    """``M(o)`` is a maximum: back-dated records neither un-roll nor confirm earlier records."""
    assert horizon(Log(NOW - 9_000, NOW, NOW - 8_000)).rolled == 1


def test_max_compaction_lag_shortens_the_roll_of_compacted_topics_only() -> None:
    log = Log(NOW - 5_000, NOW)
    slow = {"segment_ms": "60000", "max_compaction_lag_ms": "100"}
    assert horizon(log, None, **slow).rolled == 0
    assert horizon(log, None, cleanup_policy="compact", **slow).rolled == 1


@pytest.mark.parametrize(("stable", "cleanable", "by"), [(4, 3, None), (1, 1, "an open transaction")])
def test_an_open_transaction_blocks_the_cleaner(stable: int, cleanable: int, by: str | None) -> None:
    log = Log(NOW - 9_000, NOW - 8_000, NOW - 7_000, NOW)
    found = horizon(log, stable, cleanup_policy="compact")
    assert (found.cleanable, found.blocked_by) == (cleanable, by)


def test_an_open_transaction_blocks_the_segment_in_which_it_begins() -> None:
    """Found on a broker: the last stable offset was 38, but the cleaner stopped at 28, where that segment begins."""
    log = Log(NOW - 90_000, NOW - 9_000, NOW - 8_000, NOW - 7_000, NOW)
    found = horizon(log, 3, cleanup_policy="compact", segment_ms="5000")
    assert (found.rolled, found.cleanable, found.blocked_by) == (4, 1, "an open transaction")


def test_min_compaction_lag_blocks_the_cleaner() -> None:
    log = Log(NOW - 90_000, NOW - 30_000, NOW)
    found = horizon(log, cleanup_policy="compact", min_compaction_lag_ms="60000")
    assert (found.rolled, found.cleanable, found.blocked_by) == (2, 1, "min.compaction.lag.ms")


def test_overdue_records_need_a_roll_and_a_retention_check() -> None:
    retention = 60_000
    gone = NOW - retention - INTERVAL - 10_000  # rolled, because records at NOW - 30 s and NOW followed
    found = horizon(Log(gone, gone + 1, NOW - 30_000, NOW), retention_ms=str(retention))
    assert found.overdue == 2
    idle = horizon(Log(gone, gone + 1), retention_ms=str(retention))
    assert idle.overdue == 0


def test_a_timestamp_ahead_of_the_clock_is_in_the_future() -> None:
    found = horizon(Log(NOW + 1_800_000, NOW - 9_000_000), retention_ms="60000")
    assert (found.future_offset, found.future_timestamp, found.unexpired) == (0, NOW + 1_800_000, 0)


class Emptied(Log):
    """A log whose first batch was emptied by the cleaner, is alone in its segment, and is ``hidden`` milliseconds old.

    For any older timestamp, the broker answers that there is no offset.
    """

    hidden = 350_000

    def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
        return super().first_offsets_at(
            {topic_partition: time for topic_partition, time in times.items() if time > NOW - self.hidden}
        )


def test_contradicting_broker_answers_prove_nothing() -> None:
    stamps = NOW - 900_000, NOW - 600_000, NOW
    lag = {"cleanup_policy": "compact", "min_compaction_lag_ms": "60000", "segment_ms": "300000"}
    assert horizon(Log(*stamps), **lag).cleanable == 2
    found = horizon(Emptied(*stamps), **lag)
    assert (found.rolled, found.cleanable) == (2, 0), "young records may lie anywhere"
    kept = {"cleanup_policy": "compact,delete", "retention_ms": "60000"}
    assert horizon(Log(*stamps), **kept).unexpired == 2
    assert horizon(Emptied(*stamps), **kept).unexpired == 0, "not everything has expired"


ROLL = 100
"""The roll time of these topics in milliseconds, unless a test sets another ``segment.ms``."""


@pytest.mark.parametrize(("too_young_by", "cleanable"), [(0, 0), (1, 1)])
def test_min_compaction_lag_counts_the_roll_and_the_clock_on_top(too_young_by: int, cleanable: int) -> None:
    border = NOW - 60_000 - ROLL - CLOCK_MS
    found = horizon(Log(border - too_young_by, NOW), cleanup_policy="compact", min_compaction_lag_ms="60000")
    assert (found.rolled, found.cleanable) == (1, cleanable)
    assert found.blocked_by == (None if cleanable else "min.compaction.lag.ms")


@pytest.mark.parametrize(("lag", "cleanable"), [({}, 1), ({"min_compaction_lag_ms": "1"}, 0)])
def test_without_min_compaction_lag_young_records_are_cleanable_at_once(lag: dict[str, str], cleanable: int) -> None:
    found = horizon(Log(NOW - 3_000, NOW), cleanup_policy="compact", **lag)
    assert (found.rolled, found.cleanable) == (1, cleanable)


def test_a_stable_log_is_not_blocked_by_transactions_even_if_its_last_record_is_old() -> None:
    found = horizon(Log(NOW - 9_000, NOW - 8_000, NOW, NOW - 8_500), cleanup_policy="compact")
    assert (found.rolled, found.cleanable, found.blocked_by) == (2, 2, None)


COMPACTED = {"cleanup_policy": "compact", "max_compaction_lag_ms": "60000"}


@pytest.mark.parametrize(("overdue_by", "lagging"), [(0, 0), (1, 1)])
def test_lagging_records_are_older_than_max_compaction_lag_a_roll_and_the_clock(overdue_by: int, lagging: int) -> None:
    border = NOW - 60_000 - ROLL - CLOCK_MS
    assert horizon(Log(border - overdue_by, NOW), None, **COMPACTED).lagging == lagging


def test_only_rolled_and_cleanable_records_count_as_lagging() -> None:
    old = NOW - 900_000
    assert horizon(Log(old, old + 1_000, NOW), None, **COMPACTED).lagging == 2
    assert horizon(Log(old, old + ROLL), None, **COMPACTED).lagging == 0, "not rolled"
    assert horizon(Log(old, old + 1_000, NOW), 1, **COMPACTED).lagging == 1, "an open transaction holds back the rest"
    assert horizon(Log(old, NOW), cleanup_policy="compact", max_compaction_lag_ms=str(2**63 - 1)).lagging == 0
    assert horizon(Log(old, NOW), cleanup_policy="delete", max_compaction_lag_ms="60000").lagging == 0


@pytest.mark.parametrize(("overdue_by", "overdue"), [(0, 0), (1, 1)])
def test_overdue_records_are_older_than_retention_the_brokers_interval_a_roll_and_the_clock(
    overdue_by: int, overdue: int
) -> None:
    expired = NOW - 60_000 - INTERVAL - CLOCK_MS
    found = horizon(Log(expired - ROLL - overdue_by, NOW), retention_ms="60000")
    assert (found.overdue, found.expired_time, found.unexpired) == (overdue, expired, 1)
    assert horizon(Log(expired, NOW), retention_ms="60000").unexpired == 0


@pytest.mark.parametrize(("ahead", "offset"), [(CLOCK_MS, None), (CLOCK_MS + 1, 1)])
def test_a_record_is_in_the_future_only_beyond_the_tolerated_difference_of_clocks(
    ahead: int, offset: int | None
) -> None:
    assert horizon(Log(NOW, NOW + ahead, NOW)).future_offset == offset


def test_a_batch_that_the_broker_does_not_report_proves_nothing() -> None:
    class Unreported(Log):
        def batch_starts(self, _: Snapshot, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
            return {}

    found = horizon(Unreported(NOW - 9_000, NOW - 8_000, NOW), None, **COMPACTED)
    assert (found.rolled, found.cleanable, found.lagging) == (0, 0, 0)


def test_a_last_record_at_the_expiry_is_unexpired_even_if_the_broker_does_not_find_it() -> None:
    expired = NOW - 60_000 - INTERVAL - CLOCK_MS
    assert horizon(Emptied(expired - 9_000, expired), retention_ms="60000").unexpired == 0


# The lower bound of the dirty ratio: which bytes must count as clean, term by term.

COUNTS = PartitionCounts(
    records=100, payload_bytes=15_000, keys=1, cleanable=100, cleanable_bytes=15_000, clean_bytes_at_most=9_900
)
SEGMENT = {"segment.bytes": "1000"}


def log(
    at: PartitionExtent,
    counts: PartitionCounts = COUNTS,
    settings: dict[str, str] | None = None,
    read: ReadRecords | None = None,
) -> AuditedTopic:
    of = with_logs(subject(counts, live={**COMPACT, **(settings or {})}), at)
    return replace(of, read_ranges={} if read is None else {0: read})


def head(last_stable: int = 200, settings: dict[str, str] | None = None, end: int = 200) -> AuditedTopic:
    """Return a log whose offsets 0 to 99 were read."""
    at = extent(end=end, last_stable=min(last_stable, end), log_bytes=20_000)
    return log(at, settings={**SEGMENT, **(settings or {})}, read=ReadRecords(0, 100, 0))


NO_LAG, LAG = {"min.compaction.lag.ms": "0"}, {"min.compaction.lag.ms": "1"}


@pytest.mark.parametrize(
    ("of", "clean", "dirty"),
    [
        pytest.param(log(extent(log_bytes=20_000)), 10_000, 10_000, id="the largest record of each key is clean"),
        pytest.param(log(extent(end=110, log_bytes=20_000)), 11_000, 9_000, id="ten offsets may be markers"),
        pytest.param(
            log(extent(10, 110, log_bytes=20_000), settings=SEGMENT), 11_000, 9_000, id="a segment may be hidden"
        ),
        pytest.param(log(extent(10, 110, log_bytes=20_000)), 10_000, 10_000, id="a segment of an unknown size"),
        pytest.param(
            log(extent(log_bytes=20_000), replace(COUNTS, cleanable=90, cleanable_bytes=14_000)),
            10_000,
            8_000,
            id="ten records are not cleanable",
        ),
        pytest.param(
            log(
                extent(end=200, log_bytes=20_000),
                replace(COUNTS, cleanable=90, cleanable_bytes=14_000),
                SEGMENT | NO_LAG,
                ReadRecords(0, 100, 0),
            ),
            10_000,
            7_000,
            id="neither ten records nor the active segment after the scan are cleanable",
        ),
        pytest.param(log(extent(log_bytes=40_000)), 10_400, 29_600, id="records have large headers"),
        pytest.param(log(extent(log_bytes=20_000), PartitionCounts(keys=1)), 10_100, 9_900, id="no record was read"),
        pytest.param(
            log(extent(log_bytes=20_000), replace(COUNTS, clean_bytes_at_most=20_900)), 1, 0, id="all may be clean"
        ),
        pytest.param(log(extent(log_bytes=None)), 1, 0, id="the size is not told"),
        pytest.param(replace(log(extent()), counts={}), 1, 0, id="nothing was counted"),
        pytest.param(with_logs(log(extent())), 1, 0, id="no log"),
        pytest.param(head(settings=NO_LAG), 10_000, 9_000, id="a segment behind the head is active"),
        pytest.param(head(199, NO_LAG), 1, 0, id="a transaction is open behind the head"),
        pytest.param(head(settings=LAG), 1, 0, id="what is behind the head may be too young"),
        pytest.param(head(), 1, 0, id="what is behind the head may be too young, as nobody tells the lag"),
        pytest.param(head(settings=LAG, end=100), 10_000, 10_000, id="all was read"),
    ],
)
def test_possibly_clean_records_do_not_count_as_dirty(of: AuditedTopic, clean: int, dirty: int) -> None:
    assert dirty_ratio(counted(of), 0) == dirty / (dirty + clean)


def test_an_empty_log_is_not_dirty() -> None:
    assert dirty_ratio(counted(log(extent(end=0, latest=None, log_bytes=0), PartitionCounts())), 0) == 0


# Offsets that hold no record: a log that was compacted before its policy changed, and markers.


def gap(records: int, *timestamps: int) -> Log:
    """Return a log whose first ``records`` offsets hold no record."""
    log = Log(*(-1 for _ in range(records)), *timestamps)
    log.batches = tuple(range(records, len(log.timestamps)))
    return log


@pytest.mark.parametrize("config", [{"cleanup_policy": "delete"}, {"cleanup_policy": "compact"}])
def test_no_border_is_proven_by_offsets_that_hold_no_record(config: dict[str, str]) -> None:
    log = gap(5, NOW - 2_000, NOW - 1_000, NOW)
    limits = {"retention_ms": "604800000", "max_compaction_lag_ms": "86400000"}
    found = horizon(log, None, segment_ms="3000", **config, **limits)
    assert (found.rolled, found.cleanable, found.overdue, found.lagging) == (0, 0, 0, 0)


def test_records_behind_a_gap_are_still_overdue() -> None:
    log = gap(5, NOW - 2_000_000, NOW - 1_000_000, NOW)
    assert horizon(log, retention_ms="1000", segment_ms="1000").overdue == 7


def test_nothing_is_overdue_if_the_first_record_is_not_reported() -> None:
    """A batch that the cleaner emptied keeps its timestamp, and a broker then reports no record."""

    class Emptied(Log):
        def first_offsets_at(self, times: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], tuple[int, int]]:
            return super().first_offsets_at({at: time for at, time in times.items() if time > 0})

    log = Emptied(NOW - 2_000_000, NOW - 1_000_000, NOW)
    assert horizon(log, retention_ms="1000", segment_ms="1000").overdue == 0
