"""Test what the plan says about topics that are deleted or adopted, and about partitions that are added."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from tests.unit.plan.consequences.scenario import (
    HOUR,
    NO_LEADER,
    NOW,
    Scenario,
    group,
    hourly,
    only,
    path_of,
    predicted,
)
from topicwarden.kafka.read.consumer_groups import ConsumerGroup
from topicwarden.kafka.read.newest_records import NewestRecords
from topicwarden.kafka.read.partition_functions import PARTITIONERS
from topicwarden.kinds.topic.consequences import CONSEQUENCES, destroyed
from topicwarden.kinds.topic.consequences.more_partitions import unmoved_share
from topicwarden.kinds.topic.evidence import RequiredEvidence
from topicwarden.model.contents import Contents, KeyContents
from topicwarden.model.deployed_stack import DuplicateResource
from topicwarden.model.planned_change import PartitionEffect, Severity
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.plan.consequence_text import UNSEEN_GROUPS

DELETE, RECREATE = AllowedChange.DELETE, AllowedChange.RECREATE
TWO_LOGS = (hourly(10, start=5), hourly(2), hourly(0))


def test_brokers_that_create_topics_for_clients_or_delete_none_are_named() -> None:
    brokers = {1: {"auto.create.topics.enable": "true"}, 2: {"delete.topic.enable": "false"}}
    recreated = only("destroyed", Scenario({}, {}, TWO_LOGS, partitions=2, broker_configs=brokers))
    assert recreated.because[-2:] == [
        "delete.topic.enable is false on the brokers: if it is on the controllers, too, Kafka refuses the deletion",
        "auto.create.topics.enable is true: a client that still uses the topic creates it again, with the brokers' "
        "settings, and this deploy fails; stop its clients first",
    ]
    deleted = only("destroyed", Scenario(None, {}, TWO_LOGS, broker_configs=brokers))
    assert deleted.because[-1].endswith("with the brokers' settings, empty; stop its clients first")


def test_a_topic_without_yaml_would_be_deleted_with_all_its_records() -> None:
    readers = (group("slow", 8, members=2), group("done", 15, 2))
    found = only("destroyed", Scenario(None, {}, TWO_LOGS, groups=readers))
    assert found.message.startswith(
        "no YAML declares it any more, so the topic would be deleted; at most 12 records in 2.9 KiB on the "
        "leaders' disks (the newest of "
    )
    assert found.message.endswith(" would be lost")
    assert found.severity is Severity.REFUSED
    assert found.remedy == (
        "restore its YAML; to delete the topic, first deploy it with `allow: [{change: delete, until: DATE}]`, then "
        "remove the YAML"
    )
    assert found.because == ["2 consumer groups read it: slow, done", "consumer groups with active members: slow"]
    assert found.evidence == {"records": 12, "bytes": 3_000, "active_groups": 1, "partitions not seen": 0}
    assert found.partitions == [
        PartitionEffect(
            partition=0, records=10, bytes=1_000, first_offset=5, last_offset=14, last_timestamp=NOW - HOUR
        ),
        PartitionEffect(partition=1, records=2, bytes=1_000, first_offset=0, last_offset=1, last_timestamp=NOW - HOUR),
    ]
    assert [(each.group, each.partition, each.records) for each in found.groups] == [("slow", 0, 7)]
    assert (found.measured or "").endswith("at most, because compaction and transactions leave gaps")
    empty = only("destroyed", Scenario(None, {}, (hourly(0),)))
    assert empty.measured == "offsets and log sizes of the leaders"


def test_a_deletion_that_the_last_yaml_allowed_is_a_danger() -> None:
    found = only("destroyed", Scenario(None, {}, allow=[DELETE]))
    assert (found.severity, found.remedy, found.evidence["active_groups"]) == (Severity.DANGER, "", 0)
    assert only("destroyed", Scenario(None, {}, allow=[RECREATE])).severity is Severity.REFUSED


def test_a_destroyed_stack_names_the_last_day_on_which_the_yaml_allowed_the_deletion() -> None:
    scenario = Scenario(None, {})
    change = scenario.change()
    yaml = Topic("t", 1, 1, allow=frozenset({Allowance(DELETE, date(2026, 12, 31))}))
    assert change.deployed
    destroying = replace(change, deployed=replace(change.deployed, declared=yaml), destroying=True)
    (found,) = destroyed.evaluate(destroying, scenario.evidence(RequiredEvidence()))
    assert (found.severity, found.remedy) == (
        Severity.REFUSED,
        "write `allow: [{change: delete, until: DATE}]` into its YAML and deploy that first",
    )
    assert found.message.startswith("`topicwarden destroy` deletes the topic; ")
    assert "the YAML allowed its deletion until 2026-12-31 only" in found.because


@pytest.mark.parametrize("blind", [{"groups_complete": False}, {"groups": (group("dark", members=None),)}])
def test_hidden_readers_do_not_count_as_zero(blind: dict[str, object]) -> None:
    found = only("destroyed", replace(Scenario(None, {}), **blind))  # type: ignore[arg-type]
    assert found.evidence["active_groups"] is None
    unseen = any("consumer groups that this user may not see" in reason for reason in found.because)
    assert unseen == ("groups_complete" in blind)


def test_records_of_a_partition_without_a_leader_would_be_lost_as_well() -> None:
    found = only("destroyed", Scenario(None, {}, (hourly(3), NO_LEADER)))
    assert found.because[0].startswith("1 partition (1) without a leader")
    assert found.evidence["partitions not seen"] == 1


def test_a_topic_that_is_renamed_in_the_yaml_loses_its_records() -> None:
    found = only("destroyed", Scenario(None, {}, created=("t.v2",)))
    assert "the same deploy creates t.v2; if that is its new name: Kafka cannot rename a topic" in found.because[0]
    recreated = only("destroyed", Scenario({}, {}, TWO_LOGS, partitions=2, created=("t.v2",)))
    assert not any("t.v2" in reason for reason in recreated.because)


def test_fewer_partitions_would_recreate_the_topic() -> None:
    found = only("destroyed", Scenario({}, {}, TWO_LOGS, partitions=2))
    assert found.message.startswith(
        "lowering partitions from 3 to 2 would delete the topic and create it again; at most 12 records in "
    )
    assert found.severity is Severity.REFUSED
    assert found.remedy.startswith(
        "declare 3 partitions, or move to a new topic; if the loss is intended, "
        "write `allow: [{change: recreate, until: DATE}]`"
    )
    assert path_of(found) == ("partitions",)
    allowed = only("destroyed", Scenario({}, {}, TWO_LOGS, partitions=2, allow=[RECREATE]))
    assert (allowed.severity, allowed.remedy) == (Severity.DANGER, "")
    assert only("destroyed", Scenario({}, {}, TWO_LOGS, partitions=2, allow=[DELETE])).severity is Severity.REFUSED
    in_state = only("destroyed", Scenario({}, {}, TWO_LOGS, partitions=3, deployed_partitions=4, allow=[RECREATE]))
    assert in_state.message.startswith("lowering partitions from 4 to 3 would ")
    assert in_state.severity is Severity.DANGER


def test_partitions_added_by_hand_are_unknown_to_pulumi() -> None:
    """Pulumi compares two declared partitions with two in its state: it would not recreate the topic."""
    by_hand = Scenario({}, {}, TWO_LOGS, partitions=2, deployed_partitions=2)
    found = only("destroyed", by_hand)
    assert found.severity is Severity.REFUSED
    assert found.because[-1].startswith("the cluster has 3 partitions, Pulumi's state 2: partitions were added")
    assert found.remedy.startswith(
        "run `topicwarden refresh`, and declare 3 partitions or deploy again; if the loss is"
    )
    allowed = only("destroyed", replace(by_hand, allow=[RECREATE]))
    assert allowed.severity is Severity.REFUSED
    assert allowed.remedy == "run `topicwarden refresh`, and declare 3 partitions or deploy again"


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario({"segment.ms": "9"}, {}),
        Scenario(None, None),
        Scenario(None, {}, duplicates=(DuplicateResource("urn:1"),)),
        Scenario({}, {}, partitions=2),
    ],
)
def test_a_kept_topic_is_not_destroyed(scenario: Scenario) -> None:
    assert predicted("destroyed", scenario) == []


def test_each_duplicate_resource_of_a_topic_would_delete_it() -> None:
    stray, pending = DuplicateResource("urn:1"), DuplicateResource("urn:2", pending_deletion=True)
    first, second = predicted("duplicate", Scenario({}, {}, duplicates=(stray, pending)))
    assert first.message.startswith(
        "Pulumi's state has the topic under another URN, urn:1, which no program registers: "
    )
    assert second.message.startswith("Pulumi's state has a resource of the topic that is pending deletion, urn:2: ")
    for found in (first, second):
        assert "Pulumi would delete the topic itself; at most 10 records" in found.message
        assert found.severity is Severity.REFUSED
    assert first.remedy.startswith("`pulumi state delete --force 'urn:1'` removes that resource from the state")
    assert second.remedy.startswith("run `pulumi stack export --file state.json`, remove the entry with")
    assert (first.evidence, second.evidence) == (
        {"urn": "urn:1", "pending deletion": 0},
        {"urn": "urn:2", "pending deletion": 1},
    )
    gone = only("duplicate", Scenario({}, None, duplicates=(stray,)))
    assert gone.message.endswith("would delete the topic itself")
    assert predicted("duplicate", Scenario({"segment.ms": "9"}, {})) == []


def test_a_topic_of_another_tool_is_adopted_only_unchanged() -> None:
    same = Scenario({"segment.ms": "9"}, {"segment.ms": "9"}, in_state=False)
    adopted = only("foreign", same)
    assert (adopted.kind, adopted.severity) == ("adopted", Severity.NOTE)
    assert adopted.message == "the topic is on the cluster as declared; it is adopted without a change"
    foreign = only("foreign", replace(same, declared={"segment.ms": "8", "retention.ms": "7"}))
    assert (foreign.kind, foreign.severity) == ("foreign", Severity.REFUSED)
    assert foreign.message.endswith("it differs: retention.ms is 7d, declared 7ms, segment.ms is 9ms, declared 8ms")
    undeclared = only("foreign", replace(same, live={"segment.ms": "9", "retention.ms": "-1"}))
    assert undeclared.message.endswith("it differs: retention.ms is forever, not declared")
    assert only("foreign", replace(same, declared={"segment.ms": "8"})).location != foreign.location
    assert foreign.because == ["Pulumi would try to create it, and fail in the middle of the deploy"]
    assert foreign.remedy.startswith("declare it as it is (`topicwarden import` writes this YAML)")
    for other in (Scenario({"segment.ms": "8"}, {}), Scenario({}, None, in_state=False)):
        assert predicted("foreign", other) == []


def test_a_topic_with_the_metrics_of_another_is_refused() -> None:
    new = Scenario({}, None, in_state=False, others={"orders.v1": 1})
    assert predicted("collision", new) == []
    change = replace(new.change(), name="orders_v1")
    (refused,) = CONSEQUENCES["collision"].evaluate(change, new.evidence(RequiredEvidence()))
    assert refused.severity is Severity.REFUSED
    assert refused.message.startswith("it and the existing topic orders.v1 have the same name in Kafka's metrics")
    same = replace(change, name="orders.v1")
    assert not list(CONSEQUENCES["collision"].evaluate(same, new.evidence(RequiredEvidence())))


KEYS = tuple(f"key-{number}".encode() for number in range(100))
READ = NewestRecords(records=100, keyless=0, keys=dict.fromkeys(KEYS, 0), complete=True)
MURMUR2 = PARTITIONERS["murmur2"]


def more(**changed: object) -> Scenario:
    """Return a topic that goes from two to three partitions."""
    return replace(Scenario({}, {}, (hourly(9), hourly(9)), partitions=3, newest=READ), **changed)  # type: ignore[arg-type]


def test_keys_move_to_another_partition_if_partitions_are_added() -> None:
    moved = sum(MURMUR2(key, 2) != MURMUR2(key, 3) for key in KEYS)
    assert 0 < moved < 100
    found = only("more-partitions", more())
    assert found.message == (
        f"from 2 to 3 partitions {moved / 100:.1%} of the keys move to another partition under murmur2 "
        "(Java's default; the YAML declares none)"
    )
    assert found.severity is Severity.DANGER
    assert found.measured == f"{moved} of 100 distinct keys; all 100 records were read"
    assert found.evidence == {"share": moved / 100, "keys": 100, "moved": moved}
    assert found.because == ["records of one key are no longer read in the order in which they were written"]
    assert found.remedy


def test_the_declared_partitioner_decides_which_keys_move() -> None:
    crc32 = PARTITIONERS["crc32"]
    moved = sum(crc32(key, 2) != crc32(key, 3) for key in KEYS)
    part = replace(READ, complete=False)
    found = only("more-partitions", more(contents=Contents(key=KeyContents(partitioner="crc32")), newest=part))
    assert found.message.endswith("move to another partition under crc32")
    assert found.measured == f"{moved} of 100 distinct keys; the newest 100 records were read"


def test_keys_that_a_custom_partitioner_places_are_estimated() -> None:
    """With two and three partitions, two of six hashes stay: 0 and 1."""
    for custom in (KeyContents(partition_expression="ascii(key)"), KeyContents(partition_function="app:place")):
        found = only("more-partitions", more(contents=Contents(key=custom)))
        assert found.message == (
            "from 2 to 3 partitions 66.7% of the keys move to another partition under a custom partitioner"
        )
        assert found.measured == "arithmetic for evenly spread hashes: the declared partitioner cannot be run here"
        assert found.evidence == {"share": 0.6667, "keys": 100, "moved": None}


def test_keys_that_could_not_be_read_are_estimated() -> None:
    unread = only("more-partitions", more(newest=None))
    assert unread.message.startswith("from 2 to 3 partitions 66.7% of the keys")
    assert unread.measured == ("arithmetic for evenly spread hashes: the records could not be read (Read on the topic)")
    assert unread.evidence == {"share": 0.6667, "keys": None, "moved": None}
    keyless = NewestRecords(records=7, keyless=7, keys={}, complete=True)
    required = only("more-partitions", more(newest=keyless, contents=Contents(key=KeyContents(required=True))))
    assert required.severity is Severity.DANGER
    assert required.measured == "arithmetic for evenly spread hashes: no record has a key"
    assert required.evidence == {"share": 0.6667, "keys": 0, "moved": 0}


@pytest.mark.parametrize(
    ("newest", "reason", "measured"),
    [
        (NewestRecords(7, 7, {}, True), "the topic has no keys", "all 7 records were read"),
        (NewestRecords(0, 0, {}, True), "the topic has no keys", "the topic is empty"),
        (NewestRecords(1, 1, {}, False), "none of the newest 1 record has one", "the newest 1 record was read"),
    ],
)
def test_without_keys_nothing_moves(newest: NewestRecords, reason: str, measured: str) -> None:
    found = only("more-partitions", more(newest=newest))
    assert found.message == f"from 2 to 3 partitions; no key moves, because {reason}"
    assert (found.severity, found.measured) == (Severity.NOTE, measured)
    assert found.evidence == {"records_read": newest.records, "keys": 0}


def test_groups_can_lose_the_first_records_of_new_partitions() -> None:
    reader = ConsumerGroup("reader", "Empty", 0, {("t", 0): 0})
    share = ConsumerGroup("share", "Stable", 1, {("t", 0): 0}, share=True)
    found = only("more-partitions", more(newest=NewestRecords(7, 7, {}, True), groups=(reader, share)))
    assert found.severity is Severity.DANGER
    assert [reason.partition(":")[0] for reason in found.because] == [
        "reader can lose the first records of the new partitions"
    ]
    assert "auto.offset.reset=earliest" in found.remedy
    assert only("more-partitions", more(newest=NewestRecords(7, 7, {}, True), groups=(share,))).because == []


def test_hidden_groups_count_as_affected() -> None:
    unkeyed = only("more-partitions", more(newest=NewestRecords(7, 7, {}, True), groups_complete=False))
    assert (unkeyed.severity, unkeyed.because) == (Severity.DANGER, [UNSEEN_GROUPS])
    assert only("more-partitions", more(groups_complete=False)).because[0] == UNSEEN_GROUPS


def test_added_partitions_break_joins_and_streams_applications() -> None:
    others = {"partner": 2, "larger": 3, "unread": 2}
    streams = {"app-store-changelog": 2, "sorter-x-repartition": 2, "joiner-x": 2, "idle-y-repartition": 2}
    joins = ConsumerGroup("joiner", "Stable", 1, {("t", 0): 0, ("partner", 0): 0, ("larger", 0): 0, ("gone", 0): 0})
    found = only(
        "more-partitions",
        more(
            live={"cleanup.policy": "compact"},
            others=others | streams,
            groups=(joins, group("app", 0), group("sorter", 0)),
        ),
    )
    assert found.because == [
        "records of one key are no longer read in the order in which they were written for joiner, app, sorter",
        "old and new records of a key are in two partitions: compaction can never merge them",
        "no longer co-partitioned with partner, which the same groups read: joins miss records",
        "the Streams state of app, sorter is in the wrong tasks, and the application will not start",
        "joiner, app, sorter can lose the first records of the new partitions: a consumer with "
        "auto.offset.reset=latest (the default) finds them up to metadata.max.age.ms (5 min) later, and begins at "
        "their ends",
    ]


def test_the_share_of_hashes_that_stay_depends_on_both_numbers() -> None:
    assert unmoved_share(1, 2) == unmoved_share(2, 4) == 1 / 2
    assert unmoved_share(2, 3) == 1 / 3
    assert unmoved_share(4, 6) == 1 / 3
    assert unmoved_share(100_000, 100_001) == 1 / 100_001


@pytest.mark.parametrize(
    "scenario", [more(partitions=2, declared={"segment.ms": "9"}), more(live=None), more(declared=None)]
)
def test_the_same_number_of_partitions_moves_no_key(scenario: Scenario) -> None:
    assert predicted("more-partitions", scenario) == []
