"""Test the lower bound of the dirty ratio: which bytes must count as clean, term by term."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.subjects import counted, subject
from tests.unit.checks.cases import COMPACT, extent, with_logs
from topicwarden.audit.checks.common.dirty_ratio import dirty_ratio
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.subject import AuditedTopic, ReadRecords
from topicwarden.kafka.read.snapshot import PartitionExtent

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
