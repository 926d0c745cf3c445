"""Test for which rules the scan of all records has compared exactly the committed ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from topicwarden.audit.scan.compare_records import ComparedScan
from topicwarden.audit.scan.compared_rows import ComparedRows
from topicwarden.audit.scan.offset_ranges import OffsetRange
from topicwarden.audit.scan.reader_notes import Note
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent
from topicwarden.model.contents import Contents
from topicwarden.model.subject import NO_SUBJECTS
from topicwarden.model.topic import Topic
from topicwarden.specs.resolve import Declaration
from topicwarden.specs.schema_files import ProjectSchemas
from topicwarden.specs.validated_document import SettingLocations
from topicwarden.specs.yaml_nodes import ParsedDocument

WHOLE = PartitionExtent(0, 10, 10, None, None, None)
RULES: dict[str, dict[str, Any]] = {
    "orders": {
        "value": {"format": "json"},
        "ordered": [{"field": "version"}],
        "references": [{"field": "customer", "topic": "customers"}],
    },
    "customers": {"key": {"format": "string"}, "unique": [{"key": True}]},
    "plain": {"value": {"format": "json"}},
}
ORDERED, REFERENCES, UNIQUE = 0, 1, 2
NOTES = {0: [{"start": 0, "last_gap": None}], 1: [{"start": 0, "last_gap": None}, {"start": 5, "last_gap": None}]}


def compared(end: int = 10) -> ComparedScan:
    """Return the rules about two topics with one partition each, which is read up to ``end``."""
    declarations = [
        Declaration(
            Topic(name, 1, 1, contents=Contents.model_validate(contents)),
            SettingLocations(ParsedDocument(f"topics/{name}.yaml"), (), {}),
        )
        for name, contents in RULES.items()
    ]
    ranges = [OffsetRange(part, name, 0, 0, end) for part, name in enumerate(("customers", "orders", "plain"))]
    return ComparedScan(declarations, ranges, 1_000, ProjectSchemas(Path()), NO_SUBJECTS)


def settled(notes: dict[int, list[Note]], extents: dict[str, PartitionExtent] | None = None) -> set[int]:
    """Return the rules that are settled by ``notes``, with these extents of partitions."""
    scan = compared()
    scan.found = ComparedRows(notes=notes, totals=["{}"])
    live = {
        name: LiveTopic(Topic(name, 1, 1), "id", {}, (), {0: (extents or {}).get(name, WHOLE)})
        for name in ("customers", "orders")
    }
    return set(scan.settled(live))


def test_records_without_gaps_up_to_a_stable_end_are_committed() -> None:
    assert settled(NOTES) == {ORDERED, REFERENCES, UNIQUE}


@pytest.mark.parametrize(
    "notes",
    [
        [{"start": 0, "last_gap": 4}],
        [{"start": 0, "last_gap": None}, {"start": 5, "last_gap": 9}],
        [{"start": 0, "last_gap": None, "unread_from": 3, "unread_reason": "damaged"}],
        [],
    ],
)
def test_a_gap_leaves_the_rules_of_its_topic_and_references_to_it_open(notes: list[Note]) -> None:
    assert settled({**NOTES, 0: notes}) == {ORDERED}
    assert settled({**NOTES, 1: notes}) == {UNIQUE}


def test_records_after_the_last_stable_offset_leave_rules_open() -> None:
    longer = replace(WHOLE, end=11)
    assert settled(NOTES, {"customers": longer}) == {ORDERED}
    assert settled(NOTES, {"orders": longer}) == {UNIQUE}


def test_nothing_is_settled_unless_the_scan_compared() -> None:
    assert compared().settled({}) == frozenset()
    assert compared().options is not None
    assert compared(end=0).options is None
