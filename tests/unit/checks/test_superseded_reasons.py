"""Test which superseded records each reason names."""

from __future__ import annotations

from dataclasses import replace

from tests.support.subjects import counted
from tests.unit.audit.test_repeated_audits import DIRTY, ROLLED, one_key
from topicwarden.audit.checks.common.superseded_reasons import reasons


def test_each_superseded_record_has_one_reason() -> None:
    """Offset 4 is the first that has not rolled, and offset 2 the first that the cleaner may not clean."""
    horizon = replace(ROLLED, rolled=4, cleanable=2, blocked_by="min.compaction.lag.ms")
    counts = replace(DIRTY, superseded=5, superseded_rolled=3, superseded_cleanable=1)
    log = replace(one_key(), records=dict.fromkeys(range(6), 5), horizon=horizon, counts=counts)
    not_rolled, blocked, cleanable = reasons(counted(log.subject()), [0])
    assert not_rolled.startswith("2 (offsets 3-4): the segment of the superseding record may not have rolled yet")
    assert blocked == "2 (offsets 1-2): held back by min.compaction.lag.ms"
    assert cleanable.startswith("1 (offsets 0): their segments have rolled")


def test_records_of_several_partitions_are_counted_together_without_offsets() -> None:
    of = counted(one_key().subject())
    assert of.live
    two = replace(
        of,
        counts=dict.fromkeys((0, 1), of.counts[0]),
        horizons=dict.fromkeys((0, 1), of.horizons[0]),
        pairs=dict.fromkeys((0, 1), of.pairs[0]),
        live=replace(of.live, extents=dict.fromkeys((0, 1), of.live.extents[0])),
    )
    (reason,) = reasons(two, [0, 1])
    assert reason.startswith("198: their segments have rolled")
