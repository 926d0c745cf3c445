"""Test what the plan says about records that a shorter retention, or an earlier roll, deletes."""

from __future__ import annotations

import pytest

from tests.unit.plan.consequences.scenario import (
    DAY,
    HOUR,
    NO_LEADER,
    NOW,
    Log,
    Scenario,
    group,
    hourly,
    only,
    predicted,
)
from topicwarden.kafka.read.snapshot import LogDirsAnswer
from topicwarden.model.planned_change import PartitionEffect, Severity
from topicwarden.model.topic import AllowedChange

SHRINK = AllowedChange.SHRINK_RETENTION

DENIED, FAILED = LogDirsAnswer(denied=True), LogDirsAnswer(errors={1: "KAFKA_STORAGE_ERROR"})


def days(number: float) -> dict[str, str]:
    return {"retention.ms": str(int(number * DAY))}


def test_shorter_retention_deletes_all_records_that_it_does_not_protect() -> None:
    """The log has one record per hour, 1 to 240 hours old.

    Of these, 72 are older than the old retention, too: a younger record of their segment has protected them.
    """
    cut = only("retention-cut", Scenario(days(1), days(7), (hourly(240),)))
    assert cut.message == (
        "retention.ms is 7d and will be 1d: at most 216 records of 240 in 1 partition expire at once, "
        "240 within a day, 240 within a week"
    )
    assert cut.severity is Severity.REFUSED
    assert cut.remedy.startswith(
        "keep the retention; if the loss is intended, write `allow: [{change: shrink-retention, until: DATE}]`"
    )
    assert cut.evidence == {
        "setting": "retention.ms",
        "records": 216,
        "records within a day": 240,
        "records within a week": 240,
        "records in all": 240,
        "partitions not seen": 0,
        "bytes": 900,
        "retention.ms before": 7 * DAY,
        "retention.ms after": DAY,
    }
    assert cut.partitions == [
        PartitionEffect(
            partition=0, records=216, bytes=900, first_offset=0, last_offset=215, first_timestamp=NOW - 240 * HOUR
        )
    ]
    assert "every existing record expires earlier than before" in cut.because
    assert cut.measured


def test_a_retention_set_by_hand_and_never_declared_is_kept() -> None:
    """The provider removes a setting only if the YAML declared it before."""
    by_hand = Scenario({"segment.bytes": "1048576"}, {"retention.ms": "-1"}, (hourly(240),), deployed={})
    assert predicted("retention-cut", by_hand) == []
    declared_before = Scenario(
        {"segment.bytes": "1048576"}, {"retention.ms": "-1"}, (hourly(240),), deployed={"retention.ms": "-1"}
    )
    assert only("retention-cut", declared_before).severity is Severity.REFUSED


def test_records_that_never_expired_lose_the_first_one_too() -> None:
    cut = only("retention-cut", Scenario(days(1), {"retention.ms": "-1"}, (hourly(48, start=7), hourly(0))))
    assert cut.message.startswith(
        "no record expires now; retention.ms applies and will be 1d: at most 24 records of 48"
    )
    (effect,) = cut.partitions
    assert (effect.first_offset, effect.last_offset, effect.first_timestamp) == (7, 30, NOW - 48 * HOUR)
    assert (cut.evidence["retention.ms before"], cut.evidence["bytes"]) == (None, 500)
    from_zero = only("retention-cut", Scenario(days(1), {"retention.ms": "-1"}, (hourly(48),)))
    assert (from_zero.evidence["records"], from_zero.partitions[0].first_offset) == (24, 0)


def test_a_compacted_topic_that_also_deletes_expires_records() -> None:
    cut = only(
        "retention-cut", Scenario({"cleanup.policy": "compact,delete", **days(1)}, {"cleanup.policy": "compact"})
    )
    assert cut.message.startswith(
        "no record expires now; retention.ms applies and will be 1d: none of 10 records in 1 partition expires"
    )


@pytest.mark.parametrize(
    ("records", "days_after", "text"),
    [
        (2, 10, "none of 2 records in 1 partition expires within a week"),
        (96, 10, "none of 96 records in 1 partition expires within a day, at most 24 within a week"),
        (25, 1, "at most 1 record of 25 in 1 partition expires at once, 25 within a day, 25 within a week"),
    ],
    ids=["none", "later", "one"],
)
def test_the_message_says_plainly_how_many_records_expire(records: int, days_after: int, text: str) -> None:
    cut = only("retention-cut", Scenario(days(days_after), days(30), (hourly(records, start=0),)))
    assert cut.message == f"retention.ms is 30d and will be {days_after}d: {text}"


def test_records_that_expire_later_are_listed_with_their_consumer_groups() -> None:
    """No record is older than 10 days now; within a week those that are older than 3 days now have expired."""
    readers = (group("late", 2, members=3), group("done", 90), group("elsewhere", None, members=1))
    cut = only("retention-cut", Scenario(days(10), days(30), (hourly(96, start=0),), groups=readers))
    assert cut.evidence["records"] == cut.evidence["records within a day"] == 0
    assert cut.evidence["records within a week"] == 24
    (effect,) = cut.partitions
    assert (effect.first_offset, effect.last_offset, effect.first_timestamp) == (0, 23, NOW - 96 * HOUR)
    assert [(each.group, each.records, each.members) for each in cut.groups] == [("late", 22, 3)]
    assert "not read yet by late (at most 22 records)" in cut.because
    assert "reading the topic without committed offsets: elsewhere" in cut.because


def test_a_group_without_committed_offsets_is_reported_as_behind() -> None:
    readers = (group("done", 90), group("elsewhere", None, members=1))
    cut = only("retention-cut", Scenario(days(10), days(30), (hourly(96, start=0),), groups=readers))
    assert "no committed offset of 1 visible consumer group (done) is before the end of these records" in cut.because
    assert "reading the topic without committed offsets: elsewhere" in cut.because


def test_a_shorter_retention_of_an_empty_topic_is_a_note() -> None:
    cut = only("retention-cut", Scenario(days(1), days(7), (hourly(0),)))
    assert cut.message == "retention.ms is 7d and will be 1d: the topic is empty"
    assert cut.because == ["no visible consumer group reads the topic or has committed offsets for it"]
    assert (cut.severity, cut.remedy, cut.evidence["bytes"]) == (Severity.NOTE, "", 0)
    assert "every existing record expires earlier than before" not in cut.because


@pytest.mark.parametrize(("declared", "live"), [(days(1), days(7)), ({"retention.bytes": "5"}, {})])
def test_an_empty_topic_with_a_partition_without_a_leader_may_lose_records(
    declared: dict[str, str], live: dict[str, str]
) -> None:
    cut = only("retention-cut", Scenario(declared, live, (hourly(0), NO_LEADER)))
    assert (cut.severity, cut.evidence["partitions not seen"]) == (Severity.REFUSED, 1)
    assert cut.because[0].startswith("1 partition (1) without a leader")
    assert cut.remedy


@pytest.mark.parametrize("rule", ["retention-cut", "earlier-roll"])
def test_an_allowed_loss_is_a_danger_without_a_remedy(rule: str) -> None:
    declared = {**days(1), "segment.ms": "1000", "retention.bytes": "500"}
    live = days(7 if rule == "retention-cut" else 1)
    for found in predicted(rule, Scenario(declared, live, (hourly(48),), allow=[SHRINK])):
        assert (found.severity, found.remedy) == (Severity.DANGER, "")


@pytest.mark.parametrize(
    ("declared", "live"),
    [
        (days(7), days(7) | {"segment.ms": "9"}),
        (days(8), days(7)),
        ({"retention.ms": "-1"}, days(7)),
        ({"cleanup.policy": "compact"}, days(7)),
        ({"retention.bytes": "9"}, {"retention.bytes": "9", "segment.ms": "9"}),
        ({"retention.bytes": "10"}, {"retention.bytes": "9"}),
        ({"retention.bytes": "-1"}, {"retention.bytes": "9"}),
        ({"retention.ms": str(2**63 - 1)}, {"retention.ms": "-1"}),
        ({"retention.bytes": str(2**63 - 1)}, {"retention.bytes": "-1"}),
        ({"cleanup.policy": "compact", "retention.bytes": "1"}, {"cleanup.policy": "compact"}),
        (None, days(7)),
        (days(7), None),
    ],
)
def test_a_retention_that_is_not_shorter_has_no_consequence(
    declared: dict[str, str] | None, live: dict[str, str] | None
) -> None:
    assert predicted("retention-cut", Scenario(declared, live)) == []


def test_a_lower_size_limit_deletes_the_bytes_above_it() -> None:
    """Offsets 10 to 19 have 1,000 bytes; 250 bytes above the limit are about the oldest two records."""
    limit = {"retention.bytes": "750"}
    readers = (group("slow", 11), group("done", 20))
    logs = (hourly(10, start=10), hourly(2, log_bytes=750), hourly(0))
    cut = only("retention-cut", Scenario(limit, {"retention.bytes": "2000"}, logs, groups=readers))
    assert cut.message == (
        "a partition will keep 750 B: at most 250 B of 1 partition are deleted at once, the oldest first"
    )
    assert cut.severity is Severity.REFUSED
    assert cut.remedy.startswith("keep the size; ")
    assert "every partition keeps less than before" in cut.because
    assert "about 2 of 12 records, estimated by bytes; at most all" in cut.because
    assert "not read yet by slow (at most 9 records)" in cut.because
    assert cut.evidence == {
        "setting": "retention.bytes",
        "bytes": 250,
        "records": 12,
        "retention.bytes": 750,
        "partitions not seen": 0,
    }
    assert cut.partitions == [PartitionEffect(partition=0, bytes=250, first_offset=10)]
    assert [(each.group, each.partition, each.records) for each in cut.groups] == [("slow", 0, 9)]
    assert cut.measured


def test_a_lower_size_limit_that_no_log_exceeds_deletes_nothing_now() -> None:
    cut = only("retention-cut", Scenario({"retention.bytes": "1000"}, {}, groups=(group("slow", 0),)))
    assert cut.message == ("a partition will keep 1kB: nothing is deleted at once")
    assert (cut.severity, cut.evidence["records"], cut.groups) == (Severity.REFUSED, 0, [])
    assert not any("estimated by bytes" in reason for reason in cut.because)
    empty = only("retention-cut", Scenario({"retention.bytes": "1000"}, {}, (hourly(0),)))
    assert (empty.message, empty.severity) == (
        "a partition will keep 1kB: the topic is empty",
        Severity.NOTE,
    )
    assert empty.remedy == ""
    assert empty.because == ["no visible consumer group reads the topic or has committed offsets for it"]


def test_the_size_of_a_log_with_remote_segments_is_not_known() -> None:
    """The leader has few bytes on its own disk, and the limit counts those in remote storage, too."""
    tiered = {"remote.storage.enable": "true"}
    cut = only("retention-cut", Scenario({**tiered, "retention.bytes": "5000000"}, tiered, (hourly(5),)))
    assert cut.message.endswith("how much is deleted at once is not known")
    assert "the size of 1 partition is not known: brokers do not report remote segments" in cut.because
    assert cut.evidence["bytes"] is None


def test_logs_of_unknown_size_may_lose_all_records() -> None:
    logs = (hourly(10, log_bytes=None), hourly(0, log_bytes=None))
    cut = only(
        "retention-cut", Scenario({"retention.bytes": "750"}, {}, logs, groups=(group("slow", 4),), log_dirs=DENIED)
    )
    assert cut.message == "a partition will keep 750 B: how much is deleted at once is not known"
    assert "the size of 1 partition is not known: this user lacks Describe on the cluster" in cut.because
    assert cut.evidence == {
        "setting": "retention.bytes",
        "bytes": None,
        "records": 10,
        "retention.bytes": 750,
        "partitions not seen": 1,
    }
    assert [(each.group, each.records) for each in cut.groups] == [("slow", 6)]
    by_time = only("retention-cut", Scenario({"retention.ms": "1"}, {}, logs))
    assert (by_time.evidence["bytes"], by_time.partitions[0].bytes) == (None, None)


SEGMENT = {"segment.ms": str(HOUR)}


def test_expired_records_in_an_open_segment_are_deleted_when_it_rolls() -> None:
    """Retention is a day: of 48 hourly records the oldest 24 have expired, and only their segment keeps them."""
    logs = (hourly(48, start=5), hourly(3), hourly(0))
    readers = (group("slow", 15), group("done", 60))
    roll = only("earlier-roll", Scenario({**days(1), **SEGMENT}, days(1), logs, groups=readers))
    assert roll.message == (
        "segment.ms goes from 7d to 1h, so segments roll sooner: at most 24 records of 51 that the retention no longer "
        "protects, and that are still in a segment, are deleted"
    )
    assert roll.severity is Severity.REFUSED
    assert roll.remedy.startswith("keep the segments as they are; ")
    assert roll.evidence == {"records": 24, "bytes": 0, "partitions not seen": 0}
    assert [(each.group, each.partition, each.records) for each in roll.groups] == [("slow", 0, 14)]
    assert roll.because == ["not read yet by slow (at most 14 records)"]
    assert roll.measured


def test_bytes_above_the_limit_are_deleted_when_large_segments_roll() -> None:
    config = {"retention.ms": "-1", "retention.bytes": "400"}
    roll = only("earlier-roll", Scenario({**config, "segment.bytes": "1048576"}, config))
    assert roll.evidence == {"records": 10, "bytes": 600, "partitions not seen": 0}
    assert (roll.severity, roll.because[0]) == (
        Severity.REFUSED,
        "600 B above retention.bytes are in large segments",
    )
    hidden = only(
        "earlier-roll",
        Scenario({**config, **SEGMENT}, config, (hourly(10, log_bytes=None), hourly(2)), log_dirs=FAILED),
    )
    assert hidden.evidence == {"records": 12, "bytes": None, "partitions not seen": 0}
    assert hidden.severity is Severity.REFUSED
    assert (
        "the sizes of the logs are not known: DescribeLogDirs failed: KAFKA_STORAGE_ERROR on broker 1" in hidden.because
    )


@pytest.mark.parametrize(
    ("logs", "severity"),
    [
        ((hourly(5, log_bytes=None),), Severity.NOTE),
        ((hourly(5), NO_LEADER), Severity.REFUSED),
        ((Log((DAY + HOUR,)),), Severity.REFUSED),
    ],
)
def test_an_earlier_roll_that_deletes_nothing_now_is_a_note(logs: tuple[Log, ...], severity: Severity) -> None:
    roll = only("earlier-roll", Scenario({**days(1), **SEGMENT}, days(1), logs))
    assert (roll.severity, bool(roll.remedy)) == (severity, severity is Severity.REFUSED)
    assert roll.evidence["partitions not seen"] == len(logs) - 1
    assert any("without a leader" in reason for reason in roll.because) == (len(logs) == 2)


def test_a_log_as_large_as_its_limit_loses_nothing_when_it_rolls() -> None:
    config = {"retention.ms": "-1", "retention.bytes": "1000"}
    roll = only("earlier-roll", Scenario({**config, **SEGMENT}, config))
    assert (roll.severity, roll.evidence) == (Severity.NOTE, {"records": 0, "bytes": 0, "partitions not seen": 0})


@pytest.mark.parametrize(
    ("declared", "rolls_sooner"),
    [
        ({"segment.ms": str(6 * DAY)}, True),
        ({"segment.ms": str(8 * DAY)}, False),
        ({"segment.jitter.ms": "1000"}, True),
        ({"segment.bytes": "1048576"}, True),
        ({"segment.bytes": "2147483647"}, False),
        ({"segment.ms": "1000", "retention.ms": "-1"}, False),
        ({"segment.ms": "1000", "retention.ms": "-1", "retention.bytes": "0"}, True),
        ({"segment.ms": "1000", "cleanup.policy": "compact"}, False),
    ],
)
def test_only_a_change_that_rolls_segments_sooner_under_some_retention_counts(
    declared: dict[str, str], rolls_sooner: bool
) -> None:
    assert bool(predicted("earlier-roll", Scenario(declared, {}))) == rolls_sooner
    assert predicted("earlier-roll", Scenario(declared, None)) == predicted("earlier-roll", Scenario(None, {})) == []


ON = {"remote.storage.enable": "true"}
OFF = {"remote.storage.enable": "false", "remote.log.delete.on.disable": "true"}


def test_turning_tiered_storage_off_deletes_records_that_are_only_remote() -> None:
    logs = (hourly(10, start=100), hourly(10, start=50), hourly(3), NO_LEADER)
    off = only("tiered-storage-off", Scenario(OFF, ON, logs, local_starts={0: 104, 1: 20}))
    assert off.message == (
        "remote.storage.enable becomes false, which deletes at most 7 records stored only in remote storage"
    )
    assert (off.severity, off.evidence) == (Severity.REFUSED, {"records": 7})
    assert off.remedy.startswith("set remote.log.copy.disable: true instead, which keeps remote segments readable; ")
    assert "without a leader" in off.because[0]
    assert off.measured
    allowed = only("tiered-storage-off", Scenario(OFF, ON, allow=[SHRINK], local_starts={0: 0}))
    assert allowed.severity is Severity.DANGER
    assert allowed.message.endswith("deletes no record stored only in remote storage")


@pytest.mark.parametrize("keeps", [{}, {"remote.log.delete.on.disable": "false"}])
def test_turning_tiered_storage_off_without_deletion_is_refused_by_kafka(keeps: dict[str, str]) -> None:
    declared = {"remote.storage.enable": "false", **keeps}
    loss, refusal = predicted("tiered-storage-off", Scenario(declared, ON, allow=[SHRINK]))
    assert (loss.severity, refusal.severity) == (Severity.DANGER, Severity.REFUSED)
    assert refusal.message == (
        "remote.storage.enable becomes false, and remote.log.delete.on.disable is false: Kafka refuses the change"
    )
    recreated = Scenario(declared, ON, (hourly(1), hourly(1)), partitions=1)
    assert len(predicted("tiered-storage-off", recreated)) == 1


@pytest.mark.parametrize(("declared", "live"), [(ON, OFF), (OFF, None), (None, ON), (OFF | days(1), OFF)])
def test_tiered_storage_that_stays_or_starts_deletes_nothing(
    declared: dict[str, str] | None, live: dict[str, str] | None
) -> None:
    assert predicted("tiered-storage-off", Scenario(declared, live)) == []
