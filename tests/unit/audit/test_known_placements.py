"""Test when an audit uses the conclusion of an earlier audit about keys."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from topicwarden.audit.history.known_placements import known_placements, remembered_placements
from topicwarden.audit.history.topic_state import TopicState
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.audit.scan.key_placement import (
    KeyPlacement,
    MisplacedKey,
    PlacementStudy,
    ScatteredKey,
)
from topicwarden.audit.scan.key_scan import TopicKeys
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.partitioner_bits import ALGORITHMS
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
