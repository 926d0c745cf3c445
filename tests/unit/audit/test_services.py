"""Test that an audit concludes from segments, retention and the cleaner only where Apache Kafka stores the records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.repeated_audits import DEAD, Log
from tests.support.subjects import subject
from tests.unit.checks.retention import OVERDUE, overdue
from topicwarden.audit import compare_audits
from topicwarden.audit.checks import CHECKS
from topicwarden.audit.evidence import ApacheLog
from topicwarden.audit.judge import judge
from topicwarden.audit.subject import AuditedTopic
from topicwarden.audit.topic_facts import topic_facts
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kafka_facts.services.profile import ServiceProfile
from topicwarden.model.verdict import Verdict

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
    of = subject()
    assert of.live
    without = {0: replace(of.live.extents[0], log_bytes=None)}
    snapshot = replace(of.snapshot, topics={"t": replace(of.live, extents=without)})
    assert "the sizes of the logs (Describe on the Cluster resource)" in snapshot.unseen
    there = replace(snapshot, service=PROFILES["warpstream"])
    assert "the sizes of the logs (WarpStream does not report them)" in there.unseen
