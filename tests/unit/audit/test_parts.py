"""The parts that hold what is known of a partition stay few, and what is large is seldom written again."""

from __future__ import annotations

from topicwarden.audit.history.stored_partitions import MOST_PARTS, StoredPartition


def grown(first: int, more: list[int]) -> StoredPartition:
    held = StoredPartition("id", 0, ("p",), (first,))
    for number, read in enumerate(more):
        parts, records = held.with_part(f"p{number}", read)
        held = StoredPartition("id", 0, parts, records)
    return held


def test_a_part_is_added_until_there_are_many() -> None:
    held = grown(1_000, [10] * (MOST_PARTS - 1))
    assert (len(held.parts), held.parts[0]) == (MOST_PARTS, "p")


def test_then_the_later_ones_become_one_and_the_first_stays() -> None:
    held = grown(1_000, [10] * MOST_PARTS)
    assert held.parts == ("p", f"p{MOST_PARTS - 1}-joined")
    assert held.read == (1_000, 10 * MOST_PARTS)


def test_all_become_one_where_the_later_ones_are_no_small_thing() -> None:
    held = grown(1_000, [100] * MOST_PARTS)
    assert (held.parts, held.read) == ((f"p{MOST_PARTS - 1}-joined",), (1_000 + 100 * MOST_PARTS,))


def test_however_often_it_is_audited_there_are_never_more() -> None:
    for rounds in range(1, 200):
        held = grown(1_000, [rounds % 7 + 1] * rounds)
        assert len(held.parts) <= MOST_PARTS
        assert sum(held.read) == 1_000 + (rounds % 7 + 1) * rounds
