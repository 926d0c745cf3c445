"""Test what a check may conclude from which evidence, and what it concludes if evidence is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import get_type_hints

import pytest

from tests.support.repeated_audits import DEAD, Log
from tests.support.subjects import ALL_CONTENTS, internal, subject, unreadable, with_brokers
from tests.unit.checks.cases import seen_again
from tests.unit.checks.contents import stamped
from tests.unit.checks.internal_topics import QUEUE, REPARTITION, connects, streams
from tests.unit.checks.placement import keys, scattered
from tests.unit.checks.replicas import in_sync
from tests.unit.checks.retention import INTERVAL_MS, OVERDUE, blocked, expired, overdue
from topicwarden.audit import compare_audits
from topicwarden.audit.audit_evidence import topic_facts
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.checks.common.persistence import unknown_grace_remedy
from topicwarden.audit.collect.changes_during_audit import ChangeDuringAudit
from topicwarden.audit.collect.internal_topics import InternalRole
from topicwarden.audit.evidence import ApacheLog, Counts, EveryRecord, LiveSettings, Placement, PreviousState, view_of
from topicwarden.audit.judge import judge
from topicwarden.audit.scan.counts import PartitionCounts
from topicwarden.kafka.read.snapshot import SET_ON_TOPIC, LogDirsAnswer
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.model.contents import Contents
from topicwarden.model.verdict import Verdict

# Test that a check uses no evidence that it does not require, and that all checks report missing evidence alike.

SETTINGS = {"cleanup.policy": "compact,delete", "retention.bytes": "1", "max.compaction.lag.ms": "1"}
TOPIC = subject(PartitionCounts(records=1), live=SETTINGS, contents=ALL_CONTENTS)
"""A topic to which all checks apply, except those of internal topics, consumer groups and the previous audit."""


def without_settings(of: AuditedTopic) -> AuditedTopic:
    assert of.live
    return replace(of, live=replace(of.live, sources={}, topic=replace(of.live.topic, config={})))


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_uses_no_other_evidence_than_it_requires(check: str) -> None:
    required = CHECKS[check].Required
    judged, applied = (get_type_hints(function)["subject"] for function in (CHECKS[check].judge, CHECKS[check].applies))
    assert issubclass(required, judged)
    assert issubclass(required, applied)
    assert not issubclass(applied, Counts), "the records may be missing when `applies` is called"


@pytest.mark.parametrize(
    ("missing", "kind", "message"),
    [
        (without_settings, LiveSettings, "the brokers did not return the topic's configuration"),
        (unreadable, Counts, "this user may not read the records"),
        (
            lambda of: replace(of, coverage=0.5),
            EveryRecord,
            "needs every record, and only 50% of the offsets were read",
        ),
        (lambda of: replace(of, placement=None), Placement, "the records were not counted by key"),
        (lambda of: replace(of, change=ChangeDuringAudit("grew", grown=True)), Placement, "the topic grew"),
        (lambda of: replace(of, change=ChangeDuringAudit("was deleted")), AuditedTopic, "the topic was deleted"),
    ],
)
def test_all_checks_report_missing_evidence_with_the_same_reason(
    missing: Callable[[AuditedTopic], AuditedTopic], kind: type[AuditedTopic], message: str
) -> None:
    before, after = judge(TOPIC), judge(missing(TOPIC))
    assert after.keys() == before.keys()
    affected = {check for check in before if issubclass(CHECKS[check].Required, kind)}
    undecided = {
        check: [(result.verdict, result.message) for result in results]
        for check, results in after.items()
        if message in {result.message for result in results}
    }
    assert affected
    assert undecided == {check: [(Verdict.UNDECIDABLE, message)] for check in affected}
    assert all(result.remedy for check in affected for result in after[check])


def test_a_check_that_compares_audits_judges_nothing_in_the_first_one() -> None:
    assert view_of(PreviousState, TOPIC) is None
    assert not [check for check in judge(TOPIC) if issubclass(CHECKS[check].Required, PreviousState)]


# Test that an audit concludes from segments, retention and the cleaner only where Apache Kafka stores the records.

OTHER = [profile for profile in PROFILES.values() if not profile.log.apache]
ON_LOG = {check for check, each in CHECKS.items() if issubclass(each.Required, ApacheLog)}


def on(service: ServiceProfile, of: AuditedTopic) -> AuditedTopic:
    return replace(of, snapshot=replace(of.snapshot, service=service))


@pytest.mark.parametrize("service", OTHER, ids=lambda service: service.name)
def test_another_log_is_undecidable_with_the_vendors_page(service: ServiceProfile) -> None:
    assert [each.verdict for each in judge(overdue())["retention-time"]] == [Verdict.SUSPECT]
    results = judge(on(service, overdue()))
    (result,) = results["retention-time"]
    assert result.verdict is Verdict.UNDECIDABLE
    assert result.message == (
        f"{service.title} does not store records as Apache Kafka does, and the proof rests on Apache Kafka's segments, "
        "retention and log cleaner"
    )
    assert result.because == (service.log.fact.text,)
    assert result.remedy == f"see {service.log.fact.source}"
    assert results["config-drift"] == ()


def test_every_proof_about_the_cleaner_rests_on_it() -> None:
    log = Log({1: 7, 2: 7}, DEAD)
    log.look()
    seen = on(PROFILES["redpanda"], log.subject())
    undecided = {
        check for check, results in judge(seen).items() for each in results if "does not store" in each.message
    }
    assert undecided >= {"compaction-ratio", "compaction-lag", "compaction-gap", "tombstone-retention"}
    assert undecided <= ON_LOG


def test_a_suspect_becomes_undecidable_if_the_service_is_declared() -> None:
    log = Log({1: 7, 2: 7}, DEAD)
    assert log.look()["compaction-lag"].verdict is Verdict.SUSPECT
    seen = on(PROFILES["redpanda"], log.subject())
    settled = {each.check: each for each in compare_audits.settled_findings(seen, judge(seen))}
    assert settled["compaction-lag"].now is Verdict.UNDECIDABLE
    assert "does not store records as Apache Kafka does" in settled["compaction-lag"].why


def test_a_diskless_topic_of_aiven_is_undecidable_and_a_classic_one_is_judged() -> None:
    aiven = PROFILES["aiven"]
    assert [each.verdict for each in judge(on(aiven, overdue()))["retention-time"]] == [Verdict.SUSPECT]
    diskless = overdue(live={"diskless.enable": "true"})
    assert [each.verdict for each in judge(on(aiven, diskless))["retention-time"]] == [Verdict.UNDECIDABLE]


def test_a_brokers_default_is_only_assumed_of_apache_kafka() -> None:
    snapshot = subject().snapshot
    assert snapshot.broker_number("transaction.max.timeout.ms", 900_000) == 900_000
    other = replace(snapshot, service=PROFILES["redpanda"])
    assert other.broker_number("transaction.max.timeout.ms", 900_000) is None
    reported = replace(other, broker_configs={1: {"transaction.max.timeout.ms": "5"}})
    assert reported.broker_number("transaction.max.timeout.ms", 900_000) == 5


def test_a_bound_holds_for_every_broker_while_a_setting_is_rolled_out() -> None:
    """Any broker may lead the partition or coordinate the transaction, also one with the old value or the default."""
    setting, known = "transaction.max.timeout.ms", subject().snapshot
    mixed = replace(known, broker_configs={1: {setting: "5"}, 2: {setting: "3600000"}, 3: {}})
    assert mixed.broker_number(setting, 900_000) == 3_600_000
    assert mixed.broker_number(setting, 900_000, min) == 5
    partly = replace(mixed, broker_configs={1: {setting: "5"}, 2: {}})
    assert partly.broker_number(setting, 900_000) == 900_000


def test_a_report_shows_no_segments_of_another_log() -> None:
    of = overdue(replace(OVERDUE, rolled=7))
    assert topic_facts("t", of).partitions[0].rolled == 7
    assert topic_facts("t", on(PROFILES["warpstream"], of)).partitions[0].rolled is None


def test_sizes_that_the_service_does_not_report_need_no_permission() -> None:
    denied = replace(subject().snapshot, log_dirs=LogDirsAnswer(denied=True))
    assert "the sizes of the logs (Describe on the Cluster resource)" in denied.unseen
    there = replace(denied, service=PROFILES["warpstream"], log_dirs=LogDirsAnswer(supported=False))
    assert "the sizes of the logs (WarpStream does not report them)" in there.unseen


@pytest.mark.parametrize(
    ("answer", "reason", "remedy"),
    [
        (LogDirsAnswer(denied=True), "this user lacks Describe on the cluster", "grant Describe on the cluster"),
        (LogDirsAnswer(supported=False), "the cluster does not support DescribeLogDirs", ""),
        (LogDirsAnswer(errors={2: "KAFKA_STORAGE_ERROR"}), "KAFKA_STORAGE_ERROR on broker 2", "check the log dir"),
        (LogDirsAnswer(), "the leader changed while the sizes were read", "try again"),
    ],
)
@pytest.mark.parametrize("check", ["retention-size", "internal-size"])
def test_a_missing_size_is_explained_by_what_the_brokers_answered(
    check: str, answer: LogDirsAnswer, reason: str, remedy: str
) -> None:
    of = subject() if check == "retention-size" else internal("__consumer_offsets")
    assert of.live
    config = {**of.live.topic.config, **({"retention.bytes": "1"} if check == "retention-size" else {})}
    unsized = {0: replace(of.live.extents[0], log_bytes=None)}
    live = replace(of.live, topic=replace(of.live.topic, config=config), extents=unsized)
    (result,) = judge(replace(of, live=live, snapshot=replace(of.snapshot, log_dirs=answer)))[check]
    assert result.verdict is Verdict.UNDECIDABLE
    assert result.because[0].endswith(reason)
    assert result.remedy.startswith(remedy) and bool(remedy) == bool(result.remedy)


def test_the_remedy_for_an_unknown_grace_follows_what_the_brokers_answered() -> None:
    snapshot = subject().snapshot
    assert unknown_grace_remedy(snapshot) == "grant DescribeConfigs and Describe on the Cluster resource"
    failed = replace(snapshot, log_dirs=LogDirsAnswer(errors={1: "KAFKA_STORAGE_ERROR"}))
    assert unknown_grace_remedy(failed) == "check the log directories of these brokers"
    assert unknown_grace_remedy(replace(failed, broker_configs={})).startswith("grant DescribeConfigs and")


# Test that no check fails by a setting that the topic inherits from brokers with different values.

SAME = {1: {"log.retention.hours": "168"}, 2: {"log.retention.hours": "168"}}
DIFFERENT = {1: {"log.retention.hours": "168"}, 2: {"log.retention.hours": "336"}}
ELSEWHERE = {1: {"log.retention.bytes": "1"}, 2: {"log.retention.bytes": "2"}}


def overdue_on(brokers: Mapping[int, Mapping[str, str]], source: str) -> AuditedTopic:
    """Return a topic with records that one broker's retention.ms would have deleted, with its ``source``."""
    of = seen_again(expired(), INTERVAL_MS + 1)
    assert of.live
    snapshot = replace(of.snapshot, broker_configs=brokers)
    return replace(of, snapshot=snapshot, live=replace(of.live, sources={**of.live.sources, "retention.ms": source}))


@pytest.mark.parametrize(
    ("brokers", "source", "verdict"),
    [
        (SAME, "STATIC_BROKER_CONFIG", Verdict.FAIL),
        (ELSEWHERE, "STATIC_BROKER_CONFIG", Verdict.FAIL),
        (DIFFERENT, SET_ON_TOPIC, Verdict.FAIL),
        (DIFFERENT, "STATIC_BROKER_CONFIG", Verdict.UNDECIDABLE),
    ],
)
def test_the_leader_may_have_another_value_than_the_broker_that_answered(
    brokers: Mapping[int, Mapping[str, str]], source: str, verdict: Verdict
) -> None:
    (result,) = judge(overdue_on(brokers, source))["retention-time"]
    assert result.verdict is verdict
    reported = "retention.ms is not set on the topic, and differs by broker: 7d on 1; 14d on 2"
    assert (reported in result.because) is (verdict is Verdict.UNDECIDABLE)


@pytest.mark.parametrize(
    ("size", "directories", "moves", "verdict"),
    [
        (1_000, "/a,/b", False, Verdict.FAIL),
        (1_000, "/a,/b", True, Verdict.PASS),
        (None, "/a,/b", False, Verdict.UNDECIDABLE),
        (None, "/a", False, Verdict.FAIL),
    ],
)
def test_records_remain_while_the_leader_moves_the_log_between_disks(
    size: int | None, directories: str, moves: bool, verdict: Verdict
) -> None:
    of = with_brokers(overdue_on(SAME, "STATIC_BROKER_CONFIG"), {**SAME[1], "log.dirs": directories})
    assert of.live
    log = replace(of.live.extents[0], log_bytes=size, moves_between_disks=moves)
    (result,) = judge(replace(of, live=replace(of.live, extents={0: log})))["retention-time"]
    assert result.verdict is verdict


POLICIES = {"log.cleanup.policy": "compact"}, {"log.cleanup.policy": "delete"}
KEYLESS = PartitionCounts(records=3, null_keys=1, first_null_key=7)
COMPACT = {"cleanup.policy": "compact"}


@pytest.mark.parametrize(
    ("check", "of", "brokers"),
    [
        ("min-insync-replicas", in_sync(1), ({"min.insync.replicas": "2"}, {"min.insync.replicas": "1"})),
        ("retention-blocked", blocked(), ({"log.retention.ms": "60000"}, {"log.retention.ms": "600000"})),
        ("retention-blocked", blocked(), POLICIES),
        (
            "timestamp-type",
            stamped(9, 8),
            ({"log.message.timestamp.type": "CreateTime"}, {"log.message.timestamp.type": "LogAppendTime"}),
        ),
        ("null-key", subject(KEYLESS, live=COMPACT), POLICIES),
        (
            "empty-value",
            subject(PartitionCounts(records=3, empty_values=1, first_empty_value=7), live=COMPACT),
            POLICIES,
        ),
        ("key-in-several-partitions", keys(scattered(5), Contents(), live=COMPACT), POLICIES),
        ("internal-policy", connects(InternalRole.CONNECT_OFFSETS, settings={"cleanup.policy": "delete"}), POLICIES),
        (
            "internal-policy",
            streams(REPARTITION, {**QUEUE, "retention.ms": "0"}),
            ({"log.retention.ms": "0"}, {"log.retention.ms": "-1"}),
        ),
    ],
)
def test_no_check_fails_by_a_setting_in_which_brokers_differ(
    check: str, of: AuditedTopic, brokers: tuple[Mapping[str, str], ...]
) -> None:
    (failed,) = judge(with_brokers(of, brokers[0], brokers[0]))[check]
    assert failed.verdict is Verdict.FAIL
    (limited,) = judge(with_brokers(of, *brokers))[check]
    assert limited.verdict is Verdict.UNDECIDABLE
    assert "is not set on the topic, and differs by broker" in limited.because[-1]


def test_writes_that_every_value_of_the_brokers_refuses_are_a_fail() -> None:
    of = with_brokers(in_sync(1), {"min.insync.replicas": "2"}, {"min.insync.replicas": "3"})
    (result,) = judge(of)["min-insync-replicas"]
    assert result.verdict is Verdict.FAIL


def test_a_key_that_is_required_is_missing_whatever_policy_brokers_have() -> None:
    required = Contents.model_validate({"key": {"required": True}})
    (result,) = judge(with_brokers(subject(KEYLESS, live=COMPACT, contents=required), *POLICIES))["null-key"]
    assert result.verdict is Verdict.FAIL
