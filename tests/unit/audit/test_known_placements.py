"""Test when an audit uses what an earlier audit concluded about keys, and since when partitions are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from tests.support.subjects import NOW, subject
from topicwarden.audit.history.known_placements import (
    known_placements,
    partition_growth,
    proven_ends,
    remembered_placements,
)
from topicwarden.audit.history.topic_state import PartitionGrowth, PartitionState, TopicState
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import KeyPlacement, MisplacedKey, PlacementStudy, ScatteredKey
from topicwarden.audit.scan.key_scan import TopicKeys
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS
from topicwarden.kafka.read.snapshot import LiveTopic
from topicwarden.model.contents import Contents, KeyContents

PARTITIONS = (("t", 0), ("t", 1))
FITS = tuple(7 for _ in ALGORITHMS)
STUDY = PlacementStudy(
    30,
    FITS,
    3,
    (((0, 5), (1, 7)),),
    {1: MisplacedKey(4, 2, 1, 17)},
    "",
    ScatteredKey(12, 0, 5),
)
CONCLUSION = KeyPlacement(2, 30, {each.name: 7 / 30 for each in ALGORITHMS}, study=STUDY)
KEYS = TopicKeys(
    "t",
    2,
    Contents(),
    {number: PartitionCounts(records=20, keys=15, fits=FITS) for number in range(2)},
    (OffsetRange(0, "t", 0, 3, 20), OffsetRange(1, "t", 1, 0, 30)),
    {0: 10, 1: 10},
)
DECLARED = replace(KEYS, contents=Contents(key=KeyContents(partitioner="murmur2")))


def saved(keys: TopicKeys, placement: KeyPlacement = CONCLUSION) -> dict[str, TopicState]:
    """Return the states that the next audit reads from the history after an audit with this conclusion."""
    remembered = remembered_placements([keys], {"t": placement}).get("t")
    states = TypeAdapter(list[TopicState])
    written = states.dump_json([TopicState("c", "t", "id", 1, {}, {}, (), key_placement=remembered)])
    return {"t": states.validate_json(written)[0]}


def test_an_audit_uses_the_conclusion_about_keys_that_did_not_change() -> None:
    assert known_placements([KEYS], saved(KEYS), PARTITIONS, PARTITIONS) == {"t": CONCLUSION}
    moved = replace(KEYS, ranges=tuple(replace(each, part=each.part + 5) for each in KEYS.ranges))
    assert known_placements([moved], saved(KEYS), PARTITIONS, PARTITIONS) == {"t": CONCLUSION}


def test_an_audit_reads_the_keys_again_if_a_partition_has_changed() -> None:
    assert known_placements([KEYS], saved(KEYS), PARTITIONS[:1], PARTITIONS) == {}
    for start, end in ((4, 20), (3, 21)):
        ranges = (replace(KEYS.ranges[0], start=start, end=end), KEYS.ranges[1])
        assert known_placements([replace(KEYS, ranges=ranges)], saved(KEYS), PARTITIONS, PARTITIONS) == {}
    assert known_placements([replace(KEYS, ranges=KEYS.ranges[:1])], saved(KEYS), PARTITIONS, PARTITIONS) == {}
    assert known_placements([KEYS], {}, PARTITIONS, PARTITIONS) == {}


def test_an_audit_reads_the_keys_again_if_other_rules_apply() -> None:
    assert known_placements([DECLARED], saved(KEYS), PARTITIONS, PARTITIONS) == {}
    assert known_placements([replace(KEYS, partitions=3)], saved(KEYS), PARTITIONS, PARTITIONS) == {}


@pytest.mark.parametrize(("keys", "used"), [(KEYS, True), (DECLARED, False)])
def test_proven_log_ends_matter_only_with_a_declared_partitioner(keys: TopicKeys, used: bool) -> None:
    later = replace(keys, proven_ends={0: 20, 1: 30})
    assert bool(known_placements([later], saved(keys), PARTITIONS, PARTITIONS)) is used
    assert known_placements([later], saved(later), PARTITIONS, PARTITIONS)


def test_a_failed_study_and_that_of_a_python_function_are_not_remembered() -> None:
    function = replace(KEYS, contents=Contents(key=KeyContents(partition_function="module:function")))
    assert known_placements([function], saved(function), PARTITIONS, PARTITIONS) == {}
    failed = replace(CONCLUSION, study=replace(STUDY, failed="no result"))
    assert known_placements([KEYS], saved(KEYS, failed), PARTITIONS, PARTITIONS) == {}


def test_the_state_of_an_earlier_version_has_no_conclusion() -> None:
    written = b'[{"cluster_id": "c", "topic": "t", "topic_id": "id", "taken_at": 1, "settings": {}, "since": {}'
    (state,) = TypeAdapter(list[TopicState]).validate_json(written + b', "partitions": []}]')
    assert known_placements([KEYS], {"t": state}, PARTITIONS, PARTITIONS) == {}


HOUR = 3_600_000
DAY = 24 * HOUR


def live(partitions: int, end: int) -> LiveTopic:
    of = subject().live
    assert of
    extents = {number: replace(of.extents[0], end=end) for number in range(partitions)}
    return replace(of, topic=replace(of.topic, partitions=partitions), extents=extents)


def audits(*seen: tuple[int, int, int], margin: int = DAY) -> list[dict[int, int]]:
    """Return the proven ends that each audit leaves; ``seen``: its time, the number of partitions and their ends."""
    state, found = TopicState("c", "t", "id", 0, {}, {}, (), growth=PartitionGrowth(0, 0)), []
    for at, partitions, end in seen:
        growth = partition_growth(live(partitions, end), state, NOW + at, margin)
        state = replace(state, taken_at=NOW + at, growth=growth)
        found.append(proven_ends(growth, partitions, margin))
    return found


def test_an_end_counts_a_margin_after_the_first_audit_that_saw_todays_partitions() -> None:
    assert audits((0, 2, 5), (DAY - 1, 2, 6), (DAY, 2, 7)) == [{}, {}, {0: 7, 1: 7}]


def test_the_first_such_end_is_remembered_as_long_as_the_history() -> None:
    """Records behind it stay misplaced, whatever later audits see."""
    assert audits((0, 2, 5), (DAY, 2, 7), (2 * DAY, 2, 9), (90 * DAY, 2, 99))[1:] == [{0: 7, 1: 7}] * 3


def test_new_partitions_start_the_time_again() -> None:
    assert audits((0, 2, 5), (DAY, 2, 7), (DAY + HOUR, 3, 9), (2 * DAY, 3, 10))[2:] == [{}, {}]
    assert audits((0, 2, 5), (HOUR, 3, 7), (DAY + HOUR, 3, 9))[-1] == {0: 9, 1: 9, 2: 9}


def test_a_clock_that_went_backwards_starts_the_time_again() -> None:
    assert audits((DAY, 2, 5), (0, 2, 6), (DAY - 1, 2, 7), (DAY, 2, 8)) == [{}, {}, {}, {0: 8, 1: 8}]


def test_a_longer_margin_is_not_proven_by_a_shorter_one() -> None:
    growth = PartitionGrowth(2, NOW, HOUR, {0: 7, 1: 7})
    assert proven_ends(growth, 2, HOUR) == {0: 7, 1: 7}
    assert proven_ends(growth, 2, DAY) == proven_ends(growth, 3, HOUR) == proven_ends(None, 2, HOUR) == {}


def test_a_partition_that_had_no_leader_gets_its_end_later() -> None:
    growth = PartitionGrowth(2, NOW, DAY, {0: 7})
    state = TopicState("c", "t", "id", NOW, {}, {}, (), growth=growth)
    assert partition_growth(live(2, 9), state, NOW + 2 * DAY, DAY).ends == {0: 7, 1: 9}


@pytest.mark.parametrize(("saved", "since"), [(2, NOW - DAY), (1, NOW)])
def test_the_state_of_an_earlier_version_counts_if_it_has_as_many_partitions(saved: int, since: int) -> None:
    partitions = tuple(PartitionState(number, 0, 5, 5, None, 1, 1, 0) for number in range(saved))
    state = TopicState("c", "t", "id", NOW - DAY, {}, {}, partitions)
    assert partition_growth(live(2, 9), state, NOW, DAY).since == since


def test_the_history_keeps_it() -> None:
    states = TypeAdapter(list[TopicState])
    state = TopicState("c", "t", "id", NOW, {}, {}, (), growth=PartitionGrowth(2, NOW, DAY, {0: 7, 1: 8}))
    assert states.validate_json(states.dump_json([state])) == [state]
