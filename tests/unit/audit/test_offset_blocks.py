"""Test the counts of offset blocks that the driver keeps, and its files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from topicwarden.audit.history.offset_blocks import OffsetBlocks, block_totals, from_bytes, to_bytes
from topicwarden.audit.scan.counts import BANDS, PersonalField, SchemaIdCount
from topicwarden.audit.scan.partition_reads import BANDS_AT_MOST, BLOCK
from topicwarden.audit.scan.reader_notes import Note, arrivals, personal_fields, schema_ids
from topicwarden.usage.history_files import LocalFiles, is_local

NOW = 1_800_000_000_000
HOUR = 3_600_000


def blocks(*groups: tuple[int, int, int | None], note: str | None = None) -> OffsetBlocks:
    """Return groups of (block, records, largest timestamp)."""
    found = OffsetBlocks()
    for block, records, last in groups:
        found.add(
            {
                "bucket": block * BANDS_AT_MOST + 1,
                "note": None,
                "records": records,
                "payload_bytes": 10 * records,
                "rolled": records,
                "last_timestamp": last,
                "first_null_key": None,
            }
        )
    if note is not None:
        found.add({"note": note, "bucket": None})
    return found


def test_a_part_has_the_counts_that_do_not_depend_on_the_borders_of_an_audit() -> None:
    written = to_bytes({("id-a", 0): blocks((0, 5, NOW), note="{}"), ("id-b", 1): blocks((1, 7, None))})
    ((at, read),) = from_bytes(written, frozenset({("id-a", 0)}))
    assert at == ("id-a", 0)
    assert read.notes == [{}]
    (group,) = read.groups
    assert group == {"bucket": 1, "records": 5, "payload_bytes": 50, "last_timestamp": NOW}


def test_blocks_that_begin_before_the_log_start_are_left_out_but_not_their_notes() -> None:
    kept = blocks((0, 5, NOW), (1, 6, NOW), note='{"start": 0}').since(BLOCK)
    assert [group["records"] for group in kept.groups] == [6]
    assert kept.notes == [{"start": 0}]
    assert len(blocks((0, 5, NOW)).since(1).groups) == 0


def test_schema_ids_of_blocks_that_begin_before_the_log_start_are_left_out() -> None:
    rows = [[0, 7, False, 5, 0], [1, 7, False, 3, BLOCK], [1, 8, True, 2, BLOCK + 9]]
    known = blocks(note=json.dumps({"start": 0, "ids": {"value": rows}}))
    for log_start, found in ((0, [(7, 8, 0), (8, 2, BLOCK + 9)]), (1, [(7, 3, BLOCK), (8, 2, BLOCK + 9)])):
        counts = schema_ids(known.since(log_start).notes)
        assert [(each.id, each.records, each.first) for each in counts] == found
    assert schema_ids(known.since(BLOCK + 1).notes) == ()


def test_arrivals_of_blocks_that_begin_before_the_log_start_are_left_out() -> None:
    rows = [[0, HOUR, 5], [1, HOUR, 3], [1, 2 * HOUR, 2], [2, None, 4]]
    known = blocks(note=json.dumps({"start": 0, "arrivals": rows}))
    assert arrivals(known.since(0).notes) == ({HOUR: 8, 2 * HOUR: 2}, 4)
    assert arrivals(known.since(1).notes) == ({HOUR: 3, 2 * HOUR: 2}, 4)
    assert arrivals(known.since(BLOCK + 1).notes) == ({}, 4)
    assert arrivals([*known.notes, *known.notes, {}]) == ({HOUR: 16, 2 * HOUR: 4}, 8)


def test_personal_fields_of_blocks_that_begin_before_the_log_start_are_left_out() -> None:
    rows = [
        [0, None, None, 9],
        [0, "email", "e-mail address", 5],
        [1, None, None, 4],
        [1, "email", "e-mail address", 3],
    ]
    known = blocks(note=json.dumps({"start": 0, "personal": rows}))
    assert personal_fields(known.since(0).notes) == ((PersonalField("email", "e-mail address", 8),), 13)
    assert personal_fields(known.since(1).notes) == ((PersonalField("email", "e-mail address", 3),), 4)
    assert personal_fields(known.since(BLOCK + 1).notes) == ((), 0)


def test_schema_ids_of_all_notes_are_added_up() -> None:
    notes: list[Note] = [
        {"start": 9, "ids": {"value": [[0, 7, False, 5, 9], [0, None, True, 1, 12]]}},
        {"start": 0, "ids": {"value": [[0, 7, False, 2, 3], [0, "others", False, 4, 5]], "key": []}},
        {"start": 20},
    ]
    assert schema_ids(notes) == (
        SchemaIdCount("value", 7, 7, 3),
        SchemaIdCount("value", None, 4, 5, others=True),
        SchemaIdCount("value", None, 1, 12, invalid=True),
    )


def test_the_block_that_contains_the_log_start_is_kept_by_the_audit_that_saw_this_start() -> None:
    moved = blocks((0, 5, NOW), (1, 6, NOW)).since(7)
    assert moved.log_start == 7
    moved.extend(blocks((0, 3, NOW)))  # what the next audit has counted again
    ((_, read),) = from_bytes(to_bytes({("id", 0): moved}), frozenset({("id", 0)}))
    assert [group["records"] for group in read.since(7).groups] == [6, 3]
    assert [group["records"] for group in read.since(8).groups] == [6]


def test_ages_are_counted_again_by_the_youngest_record_of_a_block() -> None:
    known = blocks((0, 5, NOW - HOUR), (1, 6, NOW), (2, 2, NOW + 1), (3, 4, None))
    totals = block_totals(9, known, blocks((4, 1, NOW)), NOW)
    assert (totals.part, totals.read) == (9, 1)
    assert {band["band"]: band["records"] for band in totals.bands} == {0: 2, 1: 7, 2: 5, len(BANDS) + 1: 4}
    later = block_totals(9, known, OffsetBlocks(), NOW + HOUR)
    assert {band["band"]: band["records"] for band in later.bands} == {1: 2, 2: 11, len(BANDS) + 1: 4}


def test_parts_of_the_same_block_are_merged() -> None:
    both = blocks((0, 5, NOW), note='{"start": 0}')
    both.extend(blocks((0, 2, NOW + 5), (1, 1, NOW), note='{"start": 1}'))
    merged = both.merged()
    assert merged.notes == [{"start": 0}, {"start": 1}]
    assert [(group["bucket"], group["records"], group["last_timestamp"]) for group in merged.groups] == [
        (1, 7, NOW + 5),
        (BANDS_AT_MOST + 1, 1, NOW),
    ]


@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"[]\nno json")], ids=["empty", "no gzip", "no JSON"]
)
def test_a_damaged_file_is_noticed(content: bytes) -> None:
    with pytest.raises((OSError, EOFError, ValueError)):
        list(from_bytes(content, frozenset({("id", 0)})))


def test_addresses_are_read_as_hadoop_reads_them(tmp_path: Path) -> None:
    files, folder = LocalFiles(), f"file://{tmp_path}/with%20percent"
    files.write(f"{folder}/a/b", b"1")
    assert files.exists(f"file:{tmp_path}/with%20percent/a/b")
    assert [name for name, _ in files.names(folder)] == ["a"]
    assert files.read(f"{folder}/a/c") is None
    files.delete(folder)
    files.delete(folder)
    assert files.names(folder) == []
    assert is_local(folder)
    assert not is_local("s3a://bucket/folder")
