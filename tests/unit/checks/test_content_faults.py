"""Test how a finding lists many records: the most frequent reason first, with locations and bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from tests.support.repeated_audits import DIRTY, ROLLED, one_key
from tests.support.subjects import counted, subject
from tests.unit.checks.cases import FAIL, UNDECIDABLE
from topicwarden.audit.check import CheckResult
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.checks.common.content_faults import AT_MOST, counted_fault, results_of_faults
from topicwarden.audit.checks.common.superseded_reasons import reasons
from topicwarden.audit.judge import results_of
from topicwarden.audit.scan.counts import ContentFault, PartitionCounts
from topicwarden.model.contents import Contents, ValueContents
from topicwarden.model.topic import Allowance, AllowedChange


def fault(reason: str, count: int, *offsets: int, excerpt: str = "", **bounds: bool) -> ContentFault:
    return ContentFault("rule", reason, count, offsets, excerpt, **bounds)


def result(*partitions: list[ContentFault]) -> CheckResult:
    (only,) = results_of_faults(dict(enumerate(partitions)), "with a wrong value", ("contents",), "fix them")
    return only


def test_reasons_are_listed_by_their_number_of_records() -> None:
    found = result([fault("rare", 1, 5)], [fault("often", 7, 8, 9), fault("rare", 2, 3, 4)])
    assert found.message == "10 records with a wrong value, first at offset 5 of partition 0"
    assert found.because == (
        "7 × often: partition 1: offsets 8, 9, …",
        "3 × rare: partition 0: offset 5; partition 1: offsets 3, 4",
    )
    assert found.evidence == {"records": 10, "reasons": 2, "partition": 0, "offset": 5}
    assert (found.verdict, found.partitions, found.remedy) == (FAIL, (0, 1), "fix them")


def test_at_most_five_reasons_and_three_partitions_are_listed() -> None:
    five = result([fault(f"reason {number}", 9 - number, number) for number in range(5)])
    assert len(five.because) == 5
    seven = result([fault(f"reason {number}", 9 - number, number) for number in range(7)])
    assert (len(seven.because), seven.because[5]) == (6, "and 2 more reasons")
    spread = result(*([fault("wrong", 1, number)] for number in range(4)))
    assert spread.because == (
        "4 × wrong: partition 0: offset 0; partition 1: offset 1; partition 2: offset 2 and 1 more partition",
    )


def test_records_without_a_known_offset_have_no_position() -> None:
    found = result([], [fault("wrong", 1, unconfirmed=True)])
    assert found.message == "1 record with a wrong value"
    assert (found.verdict, found.because[1:]) == (UNDECIDABLE, ("1 × wrong",))
    assert "not known whether any of these records is committed" in found.because[0]
    assert found.evidence == {"records": 1, "partition": 1, "offset": None}
    later = result([fault("wrong", 2)], [fault("wrong", 1, 7)])
    assert (later.evidence["partition"], later.evidence["offset"]) == (1, 7)


def test_an_excerpt_is_printed_after_its_reason() -> None:
    assert result([fault("wrong", 1, 3, excerpt="at $.id")]).because == ("1 × wrong (at $.id): partition 0: offset 3",)


def test_a_count_is_an_upper_bound_if_records_may_be_aborted() -> None:
    """The offset of the first record is that of a committed record, so a single record is certain."""
    counts = PartitionCounts(at_most=True)
    assert not counted_fault("rule", "wrong", 1, 5, counts)[0].at_most
    assert counted_fault("rule", "wrong", 2, 5, counts)[0].at_most
    assert counted_fault("rule", "wrong", 1, None, counts)[0].unconfirmed
    assert not counted_fault("rule", "wrong", 2, 5, PartitionCounts())[0].at_most
    assert counted_fault("rule", "wrong", 0, None, counts) == []


def test_upper_bounds_are_marked() -> None:
    at_most = result([fault("wrong", 3, 1, at_most=True)])
    assert at_most.message.startswith("at most 3 records")
    assert at_most.because == ("at most 3 × wrong: partition 0: offset 1, …", AT_MOST)
    assert at_most.evidence["counted"] == AT_MOST
    at_least = result([fault("wrong", 3, 1, at_least=True)])
    assert at_least.message.startswith("at least 3 records")
    both = result([fault("wrong", 3, 1, at_least=True), fault("other", 1, 2, at_most=True)])
    assert both.message.startswith("about 4 records")
    assert both.because[:2] == (
        "at least 3 × wrong: partition 0: offset 1, …",
        "at most 1 × other: partition 0: offset 2",
    )
    assert both.evidence["counted"] == f"{AT_MOST}; {at_least.because[1]}"


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


@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("other", [False, True])
def test_a_record_that_a_later_schema_cannot_read_is_not_called_its_producers_fault(allowed: bool, other: bool) -> None:
    earlier = ContentFault(
        "value-schema", "written by a schema that the declared one cannot read", 1, (4,), "schema id 9"
    )
    faults = (earlier, *([ContentFault("value-schema", "no JSON", 1, (5,))] if other else []))
    contents = Contents(value=ValueContents(format="avro"))
    of = subject(PartitionCounts(records=9, faults=faults), contents=contents)
    assert of.declared
    allow = frozenset({Allowance(AllowedChange.BREAK_READERS, date(2026, 1, 1))} if allowed else ())
    (found,) = results_of(CHECKS["value-schema"], replace(of, declared=replace(of.declared, allow=allow))) or ()
    assert found.verdict is FAIL
    assert "if the schema with this id was declared when the records were written" in found.remedy
    assert found.remedy.startswith("find the producer; consumers stop at that offset; ") is other
    assert any("break-readers" in reason for reason in found.because) is allowed
