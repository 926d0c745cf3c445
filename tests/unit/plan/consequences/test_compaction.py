"""Test what the plan says about records and tombstones that the log cleaner removes, or removes sooner."""

from __future__ import annotations

import pytest

from tests.unit.plan.consequences.scenario import DAY, HOUR, NO_LEADER, Scenario, group, hourly, only, predicted
from topicwarden.kafka.read.newest_records import NewestRecords
from topicwarden.model.planned_change import Severity
from topicwarden.model.topic import AllowedChange

COMPACT, DELETE = {"cleanup.policy": "compact"}, {"cleanup.policy": "delete"}
ALL = NewestRecords(records=10, keyless=3, keys={b"a": 0, b"b": 0}, complete=True, retained=2, tombstones=1)
SOME = NewestRecords(records=4, keyless=1, keys={b"a": 0}, complete=False, retained=1)


def test_compacting_a_topic_loses_all_but_the_newest_record_of_each_key() -> None:
    removal = only("compaction", Scenario(COMPACT, DELETE, newest=ALL))
    assert removal.message == "the topic becomes compacted: the log cleaner removes at most 8 records of 10"
    assert removal.severity is Severity.REFUSED
    assert removal.remedy.startswith(
        "leave the setting as it is; if the loss is intended, write `allow: [{change: compact, until: DATE}]`"
    )
    assert removal.because == [
        "3 records without a key: the first cleaning drops them, and producers that send records without a key are "
        "refused from now on",
        "only the newest record of each key is kept; the active segment is not cleaned",
    ]
    assert removal.measured == "all 10 records were read; at most, because further keys may be kept"
    assert removal.evidence == {
        "records": 8,
        "records in all": 10,
        "keyless": 3,
        "records_read": 10,
        "partitions not seen": 0,
    }


def test_records_that_were_not_read_may_be_removed() -> None:
    removal = only("compaction", Scenario(COMPACT, DELETE, newest=SOME))
    assert removal.message.endswith("removes at most 9 records of 10")
    assert removal.because[0].startswith("1 record of the newest 4 without a key")
    assert removal.measured.startswith("the newest 4 records were read; ")
    unread = only("compaction", Scenario(COMPACT, DELETE))
    assert unread.message.endswith("removes at most 10 records of 10")
    assert unread.because[0] == "records without a key are dropped by the first cleaning, and refused from now on"
    assert unread.measured == "the records could not be read (Read on the topic), so all of them may be removed"
    assert unread.evidence == {
        "records": 10,
        "records in all": 10,
        "keyless": None,
        "records_read": None,
        "partitions not seen": 0,
    }


def test_a_compaction_that_removes_nothing_is_a_note() -> None:
    keyed = NewestRecords(records=10, keyless=0, keys={}, complete=True, retained=10)
    kept = only("compaction", Scenario(COMPACT, DELETE, newest=keyed))
    assert kept.message == "the topic becomes compacted: the log cleaner removes none of 10 records"
    assert (kept.severity, kept.remedy) == (Severity.NOTE, "")
    assert kept.because[0].startswith("records without a key are dropped")
    unseen = only("compaction", Scenario(COMPACT, DELETE, (hourly(10), NO_LEADER), newest=keyed))
    assert (unseen.severity, unseen.evidence["partitions not seen"]) == (Severity.REFUSED, 1)
    assert unseen.because[0].startswith("1 partition (1) without a leader")
    assert unseen.remedy


def test_an_allowed_compaction_is_a_danger() -> None:
    allowed = only("compaction", Scenario(COMPACT, DELETE, allow=[AllowedChange.COMPACT]))
    assert (allowed.severity, allowed.remedy) == (Severity.DANGER, "")


@pytest.mark.parametrize(
    ("setting", "before", "after", "shown"),
    [
        ("min.cleanable.dirty.ratio", "0.5", "0.1", "0.5 to 0.1"),
        ("min.compaction.lag.ms", str(DAY), str(HOUR), "1d to 1h"),
        ("max.compaction.lag.ms", str(2**63 - 1), str(HOUR), "forever to 1h"),
        ("segment.ms", str(DAY), str(HOUR), "1d to 1h"),
        ("segment.bytes", "1073741824", "1048576", "1GiB to 1MiB"),
    ],
)
def test_a_setting_that_makes_the_cleaner_run_sooner_is_refused_and_its_opposite_is_a_note(
    setting: str, before: str, after: str, shown: str
) -> None:
    sooner = only("compaction", Scenario({**COMPACT, setting: after}, {**COMPACT, setting: before}, newest=ALL))
    assert sooner.message == f"{setting} goes from {shown}: the log cleaner removes at most 8 records of 10"
    assert sooner.severity is Severity.REFUSED
    assert sooner.because == ["only the newest record of each key is kept; the active segment is not cleaned"]
    later = only("compaction", Scenario({**COMPACT, setting: before}, {**COMPACT, setting: after}))
    assert later.message.startswith(f"{setting} goes from {' to '.join(reversed(shown.split(' to ')))}: ")
    assert (later.severity, later.evidence, later.remedy) == (Severity.NOTE, {}, "")
    assert predicted("compaction", Scenario({**DELETE, setting: after}, {**DELETE, setting: before})) == []


def test_each_changed_setting_of_a_compacted_topic_is_reported_once() -> None:
    changes = {"min.compaction.lag.ms": "1000", "min.cleanable.dirty.ratio": "0.1"}
    slower, faster = predicted("compaction", Scenario(COMPACT | changes, COMPACT, newest=ALL))[::-1]
    assert faster.message.startswith("min.cleanable.dirty.ratio goes from 0.5 to 0.1: the log cleaner removes")
    assert slower.message.startswith("min.compaction.lag.ms goes from 0")
    (becomes,) = predicted("compaction", Scenario(COMPACT | changes, DELETE))
    assert becomes.message.startswith("the topic becomes compacted")


@pytest.mark.parametrize(
    ("declared", "live"),
    [(DELETE, COMPACT), (COMPACT | {"retention.ms": "1"}, COMPACT), (COMPACT, None), (None, COMPACT)],
)
def test_a_topic_that_is_not_compacted_or_stays_so_is_not_cleaned_sooner(
    declared: dict[str, str] | None, live: dict[str, str] | None
) -> None:
    assert predicted("compaction", Scenario(declared, live)) == []


def kept(hours: int) -> dict[str, str]:
    return {**COMPACT, "delete.retention.ms": str(hours * HOUR)}


def test_tombstones_are_removed_sooner_and_lagging_groups_miss_deletions() -> None:
    """Records are 10 to 1 hours old: at 3 hours the border is offset 7."""
    readers = (group("slow", 6), group("close", 7), group("done", 10))
    logs = (hourly(10), hourly(0))
    found = only("tombstones", Scenario(kept(3), kept(24), logs, groups=readers, newest=ALL))
    assert found.message == (
        "delete.retention.ms goes from 1d to 3h: at most 1 tombstone may be removed sooner; slow lag further behind "
        "than that, and may never see deletions"
    )
    assert found.severity is Severity.REFUSED
    assert found.because == ["a tombstone is removed that long after its first cleaning"]
    assert found.measured.endswith("; all records were read")
    assert found.remedy.startswith(
        "let the groups catch up first, or let them read the topic from its start afterwards; "
    )
    assert found.evidence == {"tombstones": 1, "groups_behind": 1, "partitions not seen": 0}
    assert [(each.group, each.partition, each.records) for each in found.groups] == [("slow", 0, 1)]


def test_any_record_that_was_not_read_may_be_a_tombstone() -> None:
    denied, some = "the records could not be read (Read on the topic)", "not all records were read"
    for newest, unread in ((None, denied), (SOME, some)):
        found = only("tombstones", Scenario(kept(3), kept(24), groups=(group("done", 10),), newest=newest))
        assert "at most 10 tombstones may be removed sooner; no visible group" in found.message
        assert found.measured.endswith(f"; {unread}, any may be a tombstone")
        assert (found.severity, found.evidence["tombstones"]) == (Severity.REFUSED, 10)
        assert found.remedy.startswith("keep the time; ")
    assert only("tombstones", Scenario(kept(3), kept(24), allow=[AllowedChange.COMPACT])).severity is Severity.DANGER


def test_hidden_groups_count_as_behind() -> None:
    found = only("tombstones", Scenario(kept(3), kept(24), groups_complete=False))
    assert found.because[0].startswith("there may be consumer groups that this user may not see")
    assert found.evidence["groups_behind"] is None
    one = only("tombstones", Scenario(kept(3), kept(24), groups_complete=False, groups=(group("slow", 0),)))
    assert one.evidence["groups_behind"] == 1
    assert only("tombstones", Scenario(kept(3), kept(24))).evidence["groups_behind"] == 0


def test_without_tombstones_a_shorter_time_is_a_note() -> None:
    none = NewestRecords(records=10, keyless=0, keys={}, complete=True)
    found = only("tombstones", Scenario(kept(3), kept(24), newest=none))
    assert (found.severity, found.remedy) == (Severity.NOTE, "")
    assert ": no tombstone may be removed sooner" in found.message
    unseen = only("tombstones", Scenario(kept(3), kept(24), (hourly(3), NO_LEADER), newest=none))
    assert (unseen.severity, unseen.evidence["partitions not seen"]) == (Severity.REFUSED, 1)
    assert unseen.because[0].startswith("1 partition (1) without a leader")


@pytest.mark.parametrize(
    ("declared", "live"),
    [
        (kept(24), kept(3)),
        (kept(3) | DELETE, kept(24)),
        (kept(3), kept(24) | DELETE),
        (kept(3) | {"segment.ms": "9"}, kept(3)),
        (kept(3), None),
        (None, kept(3)),
    ],
)
def test_tombstones_that_are_kept_as_long_have_no_consequence(
    declared: dict[str, str] | None, live: dict[str, str] | None
) -> None:
    assert predicted("tombstones", Scenario(declared, live)) == []
