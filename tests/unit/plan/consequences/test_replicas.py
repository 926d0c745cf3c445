"""Test what the plan says about replicas, acknowledged writes and elections."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.plan.consequences.scenario import FILE, Log, Scenario, hourly, only, predicted
from topicwarden.kafka.read.snapshot import LogDirsAnswer
from topicwarden.model.planned_change import PartitionEffect, Severity
from topicwarden.model.problem import Location, Problem
from topicwarden.model.topic import AllowedChange
from topicwarden.model.units import size_text
from topicwarden.plan.placement.replica_placement import ReplicaMove, ReplicaPlacement

IN_SYNC = hourly(10)
BEHIND = replace(IN_SYNC, in_sync=(1, 2))
SINGLE = replace(IN_SYNC, in_sync=(1,), replicas=(1,))


def least(number: int) -> dict[str, str]:
    return {"min.insync.replicas": str(number)}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (1, 2, "writes with acks=all survive the loss of 1 broker, so far 2"),
        (2, 3, "writes with acks=all survive the loss of 0 brokers, so far 1"),
    ],
)
def test_more_in_sync_replicas_make_writes_stop_earlier(before: int, after: int, message: str) -> None:
    found = only("min-insync", Scenario(least(after), least(before)))
    assert found.message == f"min.insync.replicas goes from {before} to {after}: {message}"
    assert (found.severity, found.evidence) == (Severity.NOTE, {"before": before, "after": after})
    assert found.measured


def test_the_partition_with_the_fewest_in_sync_replicas_counts() -> None:
    found = only("min-insync", Scenario(least(2), {}, (IN_SYNC, BEHIND)))
    assert found.message.endswith("survive the loss of 0 brokers, so far 1")
    one_left = only("min-insync", Scenario(least(2), {}, (IN_SYNC, SINGLE)))
    assert one_left.message.endswith("survive the loss of 0 brokers, so far 0"), "never more than it has replicas"


def test_partitions_that_would_refuse_writes_now_are_a_danger() -> None:
    one_left = replace(IN_SYNC, in_sync=(3,))
    found = only("min-insync", Scenario(least(3), least(1), (IN_SYNC, BEHIND, one_left)))
    assert found.message == (
        "min.insync.replicas goes from 1 to 3: 2 of 3 partitions would refuse writes with acks=all now, with as few as "
        "1 in sync"
    )
    assert (found.severity, found.remedy) == (Severity.DANGER, "bring the missing replicas back first")
    assert found.evidence == {"partitions": 2, "before": 1, "after": 3}
    assert found.partitions == [
        PartitionEffect(partition=1, replicas_before=[1, 2]),
        PartitionEffect(partition=2, replicas_before=[3]),
    ]
    assert found.measured


def test_fewer_in_sync_replicas_weaken_acknowledged_writes() -> None:
    found = only("min-insync", Scenario(least(1), least(2), (IN_SYNC, BEHIND)))
    assert found.message == (
        "min.insync.replicas goes from 2 to 1: a write that is acknowledged from now on survives the loss of "
        "0 brokers, so far 1"
    )
    assert found.severity is Severity.REFUSED
    assert found.remedy.startswith(
        "keep 2; if the loss is intended, write `allow: [{change: lower-min-insync, until: DATE}]`"
    )
    assert found.because == ["an acknowledged write is guaranteed to be on min.insync.replicas replicas"]
    assert found.evidence == {"before": 2, "after": 1, "losses_survived_before": 1, "losses_survived_after": 0}
    assert found.measured
    allowed = Scenario(least(1), least(2), allow=[AllowedChange.LOWER_MIN_INSYNC])
    assert (only("min-insync", allowed).severity, only("min-insync", allowed).remedy) == (Severity.DANGER, "")


def test_a_min_insync_above_the_replicas_was_never_in_effect() -> None:
    """The limit is never higher than the number of replicas of the partition."""
    single = only("min-insync", Scenario(least(1), least(2), (SINGLE, SINGLE)))
    assert (single.severity, single.remedy) == (Severity.NOTE, "")
    assert single.message.endswith("survives the loss of 0 brokers, so far 0")
    more = only("min-insync", Scenario(least(4), least(3), (IN_SYNC,)))
    assert (more.severity, more.message[-31:]) == (Severity.NOTE, "the loss of 0 brokers, so far 0")


def test_a_partition_with_few_replicas_does_not_hide_that_another_one_is_weaker() -> None:
    found = only("min-insync", Scenario(least(1), least(2), (SINGLE, IN_SYNC)))
    assert found.severity is Severity.REFUSED
    assert found.message.endswith("survives the loss of 0 brokers, so far 1")


@pytest.mark.parametrize(("declared", "live"), [(least(2) | {"segment.ms": "9"}, least(2)), (least(2), None)])
def test_the_same_number_of_in_sync_replicas_has_no_consequence(
    declared: dict[str, str], live: dict[str, str] | None
) -> None:
    assert predicted("min-insync", Scenario(declared, live)) == []


@pytest.mark.parametrize(("before", "after"), [(1, 2), (3, 2)])
def test_a_changed_limit_clears_the_eligible_leaders(before: int, after: int) -> None:
    behind = replace(IN_SYNC, in_sync=(1,), eligible=(2,))
    stopped = replace(IN_SYNC, in_sync=(), eligible=(2, 3), has_leader=False)
    found = only("eligible-leaders", Scenario(least(after), least(before), (IN_SYNC, behind, stopped)))
    assert found.message == (
        f"min.insync.replicas goes from {before} to {after}: the controller clears the eligible leader replicas of "
        "2 partitions, which could lead without the loss of acknowledged records"
    )
    assert (found.severity, found.evidence) == (Severity.DANGER, {"partitions": 2, "leaderless": 1})
    assert found.because == ["1 partition without a leader now can then not elect one of them"]
    assert found.partitions == [
        PartitionEffect(partition=1, replicas_before=[2]),
        PartitionEffect(partition=2, replicas_before=[2, 3]),
    ]


def test_without_eligible_leaders_nothing_is_cleared() -> None:
    assert predicted("eligible-leaders", Scenario(least(1), least(2), (IN_SYNC, BEHIND))) == []
    eligible = (replace(IN_SYNC, in_sync=(1,), eligible=(2,)),)
    assert predicted("eligible-leaders", Scenario(least(2) | {"segment.ms": "9"}, least(2), eligible)) == []


UNCLEAN = {"unclean.leader.election.enable": "true"}
CLEAN = {"unclean.leader.election.enable": "false"}


def test_an_unclean_election_may_lose_every_record() -> None:
    found = only("unclean-election", Scenario(UNCLEAN, CLEAN, (IN_SYNC, SINGLE)))
    assert found.message == (
        "unclean.leader.election.enable becomes true: when no in-sync replica is left, a replica that lacks records "
        "becomes leader, and acknowledged records are lost, at most all 20"
    )
    assert (found.severity, found.because) == (Severity.REFUSED, [])
    assert found.remedy.startswith(
        "leave it false; if the loss is intended, write `allow: [{change: unclean-election, until: DATE}]`"
    )
    assert found.evidence == {"partitions out of sync": 0, "records": 20}
    behind = only("unclean-election", Scenario(UNCLEAN, {}, (IN_SYNC, BEHIND), allow=[AllowedChange.UNCLEAN_ELECTION]))
    assert (behind.severity, behind.remedy) == (Severity.DANGER, "")
    assert behind.because == ["replicas are out of sync now in 1 partition"]
    assert behind.evidence["partitions out of sync"] == 1


def test_an_unclean_election_requires_a_second_replica() -> None:
    found = only("unclean-election", Scenario(UNCLEAN, CLEAN, (SINGLE,)))
    assert found.message == "unclean.leader.election.enable becomes true; without a second replica it changes nothing"
    assert (found.severity, found.remedy) == (Severity.NOTE, "")


@pytest.mark.parametrize(("declared", "live"), [(CLEAN, UNCLEAN), (UNCLEAN, None), (None, UNCLEAN)])
def test_elections_that_become_clean_have_no_consequence(
    declared: dict[str, str] | None, live: dict[str, str] | None
) -> None:
    assert predicted("unclean-election", Scenario(declared, live)) == []


def test_records_that_are_flushed_less_often_are_lost_with_all_brokers() -> None:
    often = {"flush.messages": "1", "flush.ms": "1000"}
    rarely = {"flush.messages": "100", "flush.ms": "60000"}
    messages, ms = predicted("flush", Scenario(rarely, often))
    assert messages.message.startswith(
        "flush.messages goes from 1 to 100: more acknowledged records are only in memory"
    )
    assert ms.message.startswith("flush.ms goes from 1s to 1m: ")
    assert {each.severity for each in (messages, ms)} == {Severity.REFUSED}
    assert ms.remedy.startswith(
        "leave it as it is; if the loss is intended, write `allow: [{change: relax-flush, until: DATE}]`"
    )
    allowed = Scenario(rarely, {**rarely, "flush.ms": "1000"}, allow=[AllowedChange.RELAX_FLUSH])
    assert (only("flush", allowed).severity, only("flush", allowed).remedy) == (Severity.DANGER, "")
    for declared, live in ((often, rarely), (rarely, None), (None, often)):
        assert predicted("flush", Scenario(declared, live)) == []


def moved(*moves: ReplicaMove, problems: tuple[Problem, ...] = ()) -> ReplicaPlacement:
    return ReplicaPlacement(moves, problems)


TWO = replace(IN_SYNC, replicas=(1, 2), in_sync=(1, 2))


def test_more_replicas_are_copied_by_rebalance() -> None:
    """100 MiB for each of two partitions, through a throttle of 50 MiB/s: four seconds."""
    size = 100 << 20
    moves = moved(
        ReplicaMove("t", 0, (1, 2), (1, 2, 3), 1, size),
        ReplicaMove("t", 1, (1, 2), (1, 2, 3), 1, size),
        ReplicaMove("other", 0, (1, 2), (1, 2, 3), 1, size),
    )
    found = only("replication", Scenario({}, {}, (TWO, TWO), factor=3, placement=moves))
    assert found.message == (
        "replication factor 2 to 3: `pulumi up` leaves the replicas where they are; `topicwarden rebalance` copies "
        "200.0 MiB for 2 partitions, in 4 s at least"
    )
    assert found.severity is Severity.NOTE
    assert found.because == [
        "now reading survives 1 lost broker, writing 1 lost broker, on 2 racks; "
        "then reading survives 2 lost brokers, writing 2 lost brokers, on 3 racks"
    ]
    assert found.remedy == "run `topicwarden rebalance` after the deploy"
    assert found.measured == "the leaders' log sizes, at 50 MiB/s into and out of each broker (--throttle)"
    assert found.evidence == {
        "bytes": 2 * size,
        "seconds_at_least": 4.0,
        "bytes to broker 3": 2 * size,
        "losses_survived_reading_before": 1,
        "losses_survived_reading_after": 2,
        "losses_survived_writing_before": 1,
        "losses_survived_writing_after": 2,
        "racks_before": 2,
        "racks_after": 3,
    }
    assert found.partitions[1] == PartitionEffect(
        partition=1, bytes=size, replicas_before=[1, 2], replicas_after=[1, 2, 3]
    )
    assert len(found.partitions) == 2


@pytest.mark.parametrize(
    ("size", "seconds", "exactly"),
    [(64_487_424, ", in 1.2 s at least", 1.2), (50 << 20, ", in 1 s at least", 1.0), ((50 << 20) - 1, "", 1.0)],
)
def test_a_copy_that_takes_less_than_a_second_has_no_duration(size: int, seconds: str, exactly: float) -> None:
    moves = moved(ReplicaMove("t", 0, (1, 2), (1, 2, 3), 1, size))
    found = only("replication", Scenario({}, {}, (TWO,), factor=3, placement=moves))
    assert found.message.endswith(f"copies {size_text(size)} for 1 partition{seconds}")
    assert found.evidence["seconds_at_least"] == exactly


def test_fewer_replicas_are_dropped_only_if_the_yaml_allows_it() -> None:
    moves = moved(ReplicaMove("t", 0, (1, 2, 3), (1, 2), 1, None))
    found = only("replication", Scenario({}, {}, factor=2, placement=moves))
    assert found.message.endswith("`topicwarden rebalance` drops replicas of 1 partition, and copies nothing")
    assert found.severity is Severity.REFUSED
    assert found.remedy.startswith(
        "keep the replicas; if the loss is intended, write `allow: [{change: reduce-replicas, until: DATE}]`"
    )
    assert found.evidence["bytes"] == 0
    allowed = only("replication", Scenario({}, {}, factor=2, placement=moves, allow=[AllowedChange.REDUCE_REPLICAS]))
    assert (allowed.severity, allowed.remedy) == (Severity.DANGER, "run `topicwarden rebalance` after the deploy")


def test_a_partition_with_more_replicas_than_declared_loses_some() -> None:
    """Kafka reports the replication factor of partition 0; partition 1 has three replicas."""
    found = only("replication", Scenario({}, {}, (SINGLE, IN_SYNC), factor=2))
    assert found.severity is Severity.REFUSED
    enough = only("replication", Scenario({}, {}, (SINGLE, IN_SYNC), factor=3))
    assert enough.severity is Severity.NOTE


def test_a_log_of_unknown_size_has_no_duration() -> None:
    moves = moved(ReplicaMove("t", 0, (1, 2), (1, 2, 3), 1, None))
    found = only(
        "replication", Scenario({}, {}, (TWO,), factor=3, placement=moves, log_dirs=LogDirsAnswer(denied=True))
    )
    assert found.message.endswith(
        "copies 1 partition; the brokers did not report the size of all logs: this user lacks Describe on the cluster"
    )
    assert (found.evidence["bytes"], found.evidence["seconds_at_least"]) == (None, None)
    assert found.evidence["bytes to broker 3"] is None


def test_writes_that_would_still_be_refused_afterwards_are_a_danger() -> None:
    moves = moved(ReplicaMove("t", 0, (1,), (1, 9), 1, 0))
    found = only("replication", Scenario(least(2), least(2), (SINGLE,), factor=2, placement=moves))
    assert found.severity is Severity.DANGER
    both = moved(ReplicaMove("t", 0, (1,), (1, 2), 1, 0))
    just = only("replication", Scenario(least(2), least(2), (SINGLE,), factor=2, placement=both))
    assert (just.severity, just.evidence["losses_survived_writing_after"]) == (Severity.NOTE, 0)
    assert (
        "then reading survives 0 lost brokers, writing none: 1 in-sync short of min.insync.replicas" in found.because[0]
    )


def test_a_topic_with_more_replicas_than_brokers_is_refused() -> None:
    location = Location(FILE, 2, 5)
    few = [
        Problem(location, f"{name}: 5 replicas need 5 brokers: the cluster has 3", rule)
        for name, rule in (("t", "other-rule"), ("t2", "too-few-brokers"), ("t", "too-few-brokers"))
    ]
    found = only("replication", Scenario({}, {}, factor=5, placement=moved(problems=tuple(few))))
    assert (found.kind, found.severity) == ("too-few-brokers", Severity.REFUSED)
    assert found.message == "5 replicas need 5 brokers: the cluster has 3"
    assert found.location is not None
    assert (found.location.file, found.location.line, found.location.column) == (FILE, 2, 5)
    others = only("replication", Scenario({}, {}, factor=5, placement=moved(problems=tuple(few[:2]))))
    assert others.kind == "replication-factor"


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario({"segment.ms": "9"}, {}),
        Scenario({}, None, (Log(),), factor=2),
        Scenario(None, {}),
    ],
)
def test_the_same_number_of_replicas_has_no_consequence(scenario: Scenario) -> None:
    assert predicted("replication", scenario) == []
