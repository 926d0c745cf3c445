"""Test what later audits may conclude from remembered records, also while the cleaner runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.subjects import NOW, counted, subject
from tests.unit.checks.cases import COMPACT, extent, with_logs
from topicwarden.audit.checks.common.persistence import first_segment_rolled
from topicwarden.audit.history import remembered_records
from topicwarden.audit.history.topic_state import RememberedRecord

AT = ("orders", 0)
OTHER = ("orders", 1)
PAIR = RememberedRecord(0, 2, 7, superseded_by=5)
TOMBSTONE = RememberedRecord(0, 6, 8, superseded_by=None)
LATER = RememberedRecord(0, 90, 9, superseded_by=None)

Lookups = Mapping[tuple[str, int], list[tuple[int, int]]]


class Log:
    """A log that shows one state to each lookup; a stand-in for the reads with Spark."""

    def __init__(self, *offsets: set[int]) -> None:
        self.states = list(offsets)
        self.lookups: list[set[tuple[str, int]]] = []

    def find(self, _spark: Any, _connection: Any, lookups: Lookups) -> set[tuple[tuple[str, int], int, int]]:
        self.lookups.append(set(lookups))
        present = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {(at, offset, key) for at, records in lookups.items() for offset, key in records if offset in present}


def found(monkeypatch: pytest.MonkeyPatch, log: Log, *records: RememberedRecord) -> frozenset[RememberedRecord]:
    monkeypatch.setattr(remembered_records, "_find", log.find)
    session: Any = None
    return remembered_records.still_present(session, session, {AT: records, OTHER: ()})[AT]


def test_a_pair_read_just_before_the_cleaning_does_not_outlive_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup reads the pair, the cleaner removes the pair and a later record, and the lookup misses the latter."""
    log = Log({2, 5, 6}, {5, 6}, {5, 6})
    assert found(monkeypatch, log, PAIR, TOMBSTONE, LATER) == {TOMBSTONE}
    assert len(log.lookups) == 3


def test_a_superseded_record_that_outlives_its_successor_outlived_the_cleaning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = Log({2, 5, 6})
    assert found(monkeypatch, log, PAIR, TOMBSTONE, LATER) == {PAIR, TOMBSTONE}
    assert len(log.lookups) == 2


def test_one_lookup_is_enough_if_no_record_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log({2, 5, 6, 90})
    assert found(monkeypatch, log, PAIR, TOMBSTONE, LATER) == {PAIR, TOMBSTONE, LATER}
    assert log.lookups == [{AT}]


PERSISTED_MS = 100_000
AHEAD, LAG = "message.timestamp.after.max.ms", "min.compaction.lag.ms"


@pytest.mark.parametrize(
    ("settings", "start", "latest", "rolled"),
    [
        ({AHEAD: "93999"}, 40, NOW, True),
        pytest.param({AHEAD: "94000"}, 40, NOW, False, id="the log's youngest record is a roll younger, and no more"),
        pytest.param({AHEAD: "94000"}, 0, NOW, True, id="nothing is hidden"),
        ({AHEAD: "50000", LAG: "44999"}, 40, NOW, True),
        pytest.param({AHEAD: "50000", LAG: "45000"}, 40, NOW, False, id="hidden records may be within the lag"),
        pytest.param({}, 40, NOW, False, id="hidden records may be as young as the youngest"),
        pytest.param({AHEAD: "50000"}, 40, None, False, id="the youngest is not told"),
        pytest.param({}, 40, None, False, id="nothing bounds them"),
    ],
)
def test_hidden_records_have_rolled_with_what_was_written_since(
    settings: dict[str, str], start: int, latest: int | None, rolled: bool
) -> None:
    """``segment.ms`` is 1,000. Hidden timestamps are at most ``PERSISTED_MS`` ago plus ``AHEAD`` plus 5,000 ms."""
    of = with_logs(subject(live={**COMPACT, **settings}), extent(start, latest=latest))
    assert first_segment_rolled(counted(of), 0, PERSISTED_MS) == rolled
