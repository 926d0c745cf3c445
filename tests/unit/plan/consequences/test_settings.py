"""Test what the plan says about settings: changed by hand, different by broker, refused by records or by a service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.plan.consequences.scenario import DAY, HOUR, Scenario, hourly, only, path_of, predicted
from topicwarden.kafka.read.effective_defaults import differing_defaults, effective_defaults
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.model.deployed_stack import DuplicateResource
from topicwarden.model.planned_change import (
    Action,
    Consequence,
    PartitionEffect,
    PlanReport,
    PreviewResult,
    Severity,
    TopicPlan,
)
from topicwarden.model.topic import AllowedChange
from topicwarden.plan.predicted_stack import new_losses

# What the plan says about settings that were changed by hand, that differ by broker, or that refuse records.


def test_brokers_that_differ_in_a_setting_that_the_topic_leaves_to_them() -> None:
    brokers = {
        1: {"log.retention.ms": str(DAY), "log.flush.interval.messages": "5"},
        2: {"log.retention.ms": str(HOUR), "log.flush.interval.messages": "6"},
        3: {"log.retention.ms": str(DAY), "log.flush.interval.messages": "5"},
    }
    scenario = Scenario({"flush.messages": "7"}, {}, broker_configs=brokers)
    found = only("broker-defaults", scenario)
    assert found.message == (
        "the topic leaves retention.ms to its brokers, and they differ: 1d on broker 1, 3; 1h on broker 2"
    )
    assert found.severity is Severity.DANGER
    assert found.remedy == "declare retention.ms, or give all brokers the same value"
    assert found.evidence == {"setting": "retention.ms", f"brokers with {DAY}": 2, f"brokers with {HOUR}": 1}
    assert found.because and found.measured
    assert len(predicted("broker-defaults", replace(scenario, declared={"segment.ms": "9"}))) == 2
    assert predicted("broker-defaults", replace(scenario, declared=None)) == []
    assert predicted("broker-defaults", replace(scenario, duplicates=(DuplicateResource("urn:1"),))) == []
    assert predicted("broker-defaults", Scenario({"segment.ms": "9"}, {})) == []


def smaller(limit: int = 1_000) -> Scenario:
    return Scenario({"max.message.bytes": str(limit)}, {"max.message.bytes": "2000"})


def test_producers_of_larger_batches_are_refused() -> None:
    found = only("max-message", replace(smaller(), logs=(hourly(9),) * 4, batches={2: 1_001, 1: 1_000, 0: 1_500}))
    assert found.message == ("batches above 1kB will be refused; 2 partitions have larger batches, up to 1.5 KiB")
    assert found.severity is Severity.DANGER
    assert found.partitions == [PartitionEffect(partition=0, bytes=1_500), PartitionEffect(partition=2, bytes=1_001)]
    assert found.evidence == {"max.message.bytes": 1_000, "largest_batch": 1_500, "partitions": 2}
    assert found.because and found.remedy and found.measured


@pytest.mark.parametrize(
    ("batches", "logs", "text", "largest", "severity"),
    [
        ({0: 1_000}, (hourly(9),), "the largest of the newest batches has 1kB", 1_000, Severity.NOTE),
        ({}, (hourly(9),), "the newest batches could not be read (Read on the topic)", None, Severity.DANGER),
        ({}, (hourly(0),), "the topic has no batch to compare with", None, Severity.NOTE),
    ],
)
def test_a_lower_limit_above_all_known_batches_is_a_note(
    batches: dict[int, int], logs: tuple[object, ...], text: str, largest: int | None, severity: Severity
) -> None:
    found = only("max-message", replace(smaller(), batches=batches, logs=logs))  # type: ignore[arg-type]
    assert found.message == f"batches above 1kB will be refused; {text}"
    assert (found.severity, found.because, found.remedy) == (severity, [], "")
    partitions = None if largest is None else 0
    assert found.evidence == {"max.message.bytes": 1_000, "largest_batch": largest, "partitions": partitions}


@pytest.mark.parametrize(
    "scenario",
    [
        smaller(3_000),
        replace(smaller(2_000), declared={"max.message.bytes": "2000", "segment.ms": "9"}),
        replace(smaller(), live=None),
        replace(smaller(), declared=None),
    ],
)
def test_a_limit_that_is_not_lower_refuses_nothing(scenario: Scenario) -> None:
    assert predicted("max-message", scenario) == []


def test_a_lower_limit_of_decompressed_records_also_stops_the_cleaner() -> None:
    name = "max.decompressed.message.bytes"
    found = only("decompressed-message", Scenario({name: "1000"}, {name: "2000"}))
    assert found.message == "records above 1kB after decompression will be refused"
    assert (found.severity, found.evidence) == (Severity.DANGER, {name: 1_000})
    assert found.because and found.remedy
    assert predicted("decompressed-message", Scenario({name: "2000"}, {name: "1000"})) == []
    assert only("decompressed-message", Scenario({name: "2000"}, {})).severity is Severity.DANGER


def test_batches_that_brokers_no_longer_compress_may_be_refused() -> None:
    name, limit = "compression.type", {"max.message.bytes": "1048588"}
    found = only("recompression", Scenario({name: "uncompressed", **limit}, {name: "producer", **limit}))
    assert found.message == (
        "compression.type will be uncompressed: brokers compress each batch again, and refuse those that are then "
        "larger than max.message.bytes of 1.0 MiB"
    )
    assert found.severity is Severity.DANGER
    assert only("recompression", Scenario({name: "lz4"}, {name: "zstd"})).severity is Severity.NOTE
    assert predicted("recompression", Scenario({name: "producer"}, {name: "uncompressed"})) == []


BEFORE, AFTER, TYPE = "message.timestamp.before.max.ms", "message.timestamp.after.max.ms", "message.timestamp.type"
DIFFERENCE, FOREVER = "message.timestamp.difference.max.ms", str(2**63 - 1)


def test_records_outside_a_narrower_limit_of_timestamps_are_refused() -> None:
    wide, narrow = {BEFORE: str(DAY), AFTER: str(DAY)}, {BEFORE: str(HOUR), AFTER: str(HOUR)}
    found = predicted("timestamps", Scenario(narrow, wide))
    assert {each.message for each in found} == {
        f"{name} goes from 1d to 1h: records outside this limit are refused with INVALID_TIMESTAMP"
        for name in (BEFORE, AFTER)
    }
    assert {(each.kind, each.severity) for each in found} == {("timestamp-limit", Severity.DANGER)}
    for declared, live in ((wide, narrow), (narrow, None), (None, wide)):
        assert predicted("timestamps", Scenario(declared, live)) == []


@pytest.mark.parametrize(
    ("after", "config", "severity", "text"),
    [
        ("CreateTime", {}, Severity.DANGER, "new records expire by the producers' clocks"),
        ("CreateTime", {"retention.ms": "-1"}, Severity.NOTE, "new records have other timestamps"),
        ("LogAppendTime", {}, Severity.NOTE, "new records have other timestamps"),
    ],
)
def test_another_type_of_timestamps_changes_when_new_records_expire(
    after: str, config: dict[str, str], severity: Severity, text: str
) -> None:
    before, config = "LogAppendTime" if after == "CreateTime" else "CreateTime", {AFTER: FOREVER, **config}
    found = only("timestamps", Scenario({TYPE: after, **config}, {TYPE: before, **config}))
    assert found.message.startswith(f"{TYPE} goes from {before} to {after}: {text}")
    assert (found.kind, found.severity) == ("timestamp-type", severity)
    assert found.because == ["existing records keep their timestamps"]


APPENDED, CREATED = {TYPE: "LogAppendTime"}, {TYPE: "CreateTime"}


@pytest.mark.parametrize(
    ("live", "declared", "messages"),
    [
        (APPENDED | {AFTER: FOREVER}, APPENDED | {AFTER: str(HOUR)}, []),
        (CREATED | {AFTER: FOREVER}, APPENDED | {AFTER: str(HOUR)}, []),
        (
            APPENDED | {AFTER: FOREVER, BEFORE: str(HOUR)},
            CREATED | {AFTER: FOREVER, BEFORE: str(HOUR)},
            [f"{TYPE} goes from LogAppendTime to CreateTime: records outside {BEFORE} of 1h"],
        ),
        (
            {BEFORE: str(DAY), AFTER: str(DAY), DIFFERENCE: str(DAY)},
            {BEFORE: str(DAY), AFTER: str(DAY), DIFFERENCE: str(HOUR)},
            [],
        ),
        (
            {BEFORE: FOREVER, AFTER: FOREVER, DIFFERENCE: str(DAY)},
            {BEFORE: FOREVER, AFTER: FOREVER, DIFFERENCE: str(HOUR)},
            [f"{DIFFERENCE} goes from 1d to 1h: records outside this limit"],
        ),
        (
            {BEFORE: str(DAY), AFTER: str(2 * DAY), DIFFERENCE: str(HOUR)},
            {BEFORE: FOREVER, AFTER: FOREVER, DIFFERENCE: str(HOUR)},
            [f"{AFTER} goes from 2d to forever, {BEFORE} goes from 1d to forever: records outside {DIFFERENCE} of 1h"],
        ),
        (
            {AFTER: FOREVER, DIFFERENCE: str(HOUR)},
            {AFTER: str(DAY), DIFFERENCE: str(HOUR)},
            [],
        ),
    ],
)
def test_only_a_limit_of_timestamps_that_applies_refuses_records(
    live: dict[str, str], declared: dict[str, str], messages: list[str]
) -> None:
    found = [each for each in predicted("timestamps", Scenario(declared, live)) if each.kind == "timestamp-limit"]
    assert [each.message for each in found] == [f"{message} are refused with INVALID_TIMESTAMP" for message in messages]


@pytest.mark.parametrize(
    ("scenario", "severity"),
    [
        (Scenario({"segment.ms": "9"}, None, hidden=True, in_state=False), Severity.REFUSED),
        (Scenario(None, None, hidden=True), Severity.REFUSED),
        (Scenario(None, None, hidden=True, allow=[AllowedChange.DELETE]), Severity.REFUSED),
    ],
)
def test_a_change_of_a_hidden_topic_is_refused(scenario: Scenario, severity: Severity) -> None:
    found = only("unseen", scenario)
    assert found.message == "the brokers do not report whether the topic exists, so its records are not known"
    assert found.severity is severity
    assert found.because and found.remedy.startswith("grant Describe on the topic")


def test_hidden_settings_do_not_differ() -> None:
    hidden = Scenario(
        {"cleanup.policy": "compact"}, {"cleanup.policy": "compact"}, visible_config=False, in_state=False
    )
    assert predicted("foreign", hidden) == []
    assert only("unseen", hidden).severity is Severity.REFUSED


def test_hidden_settings_cannot_be_predicted() -> None:
    settings = only("unseen", Scenario({"segment.ms": "9"}, {}, visible_config=False))
    assert settings.message == "the topic's configuration may not be read, so the effect on its data is not known"
    assert (settings.severity, settings.remedy) == (
        Severity.REFUSED,
        "grant DescribeConfigs on the topic, and plan again",
    )
    assert path_of(settings) == ("config",)
    live = {"retention.ms": "9", "segment.ms": "9", "preallocate": "true"}
    defaults = only("unseen", Scenario({}, live, broker_configs={}))
    assert defaults.message.startswith("the deploy leaves retention.ms, segment.ms to the brokers, whose settings may")
    assert (defaults.severity, defaults.remedy[:12]) == (Severity.REFUSED, "declare them")
    assert path_of(defaults) == ("config",)


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario({}, {"retention.ms": "9"}),
        Scenario({"retention.ms": "8"}, {"retention.ms": "9"}, broker_configs={}),
        Scenario({}, {"preallocate": "true"}, broker_configs={}),
        Scenario(None, {"retention.ms": "9"}, broker_configs={}),
        Scenario(None, {"retention.ms": "9"}, visible_config=False),
        Scenario({"retention.ms": "9"}, None, in_state=False),
    ],
)
def test_visible_topics_are_not_reported(scenario: Scenario) -> None:
    assert predicted("unseen", scenario) == []


@pytest.mark.parametrize(
    ("declared", "deployed", "text"),
    [
        ({}, {}, "the deploy leaves it, because no YAML declares it"),
        ({}, {"retention.ms": "9"}, "the deploy removes it, because the YAML declared it before"),
        (
            {"retention.ms": "9"},
            {"retention.ms": "9"},
            "the deploy leaves it, and `topicwarden up --refresh` puts it back",
        ),
        ({"segment.ms": "1"}, {}, "the deploy leaves it, because no YAML declares it"),
        ({"retention.ms": "7"}, {"retention.ms": "9"}, "the deploy writes 7ms"),
    ],
)
def test_a_setting_changed_by_hand_stays_until_a_refresh_or_a_deploy(
    declared: dict[str, str], deployed: dict[str, str], text: str
) -> None:
    found = only("drift", Scenario(declared, {"retention.ms": "8"}, deployed=deployed))
    before = deployed.get("retention.ms")
    assert found.message == (
        f"retention.ms has drifted: it is 8ms, deployed was {'nothing' if before is None else f'{before}ms'}; {text}"
    )
    assert found.severity is (Severity.DANGER if "leaves" in text else Severity.NOTE)
    assert found.remedy == "declare it, if the change was intended"
    assert found.evidence == {"setting": "retention.ms", "live": "8", "deployed": before}


def test_replicas_and_hidden_settings_are_not_drift() -> None:
    both = Scenario({"segment.ms": "9"}, {"retention.ms": "8"}, deployed={}, factor=2)
    assert [each.evidence["setting"] for each in predicted("drift", both)] == ["retention.ms"]
    assert predicted("drift", replace(both, visible_config=False)) == []
    assert predicted("drift", replace(both, visible_config=False, deployed={"segment.ms": "8"})) == []
    assert predicted("drift", Scenario({"segment.ms": "9"}, None, in_state=False)) == []
    assert predicted("drift", Scenario(None, {"retention.ms": "8"}, deployed={})) == []


def test_a_topic_deleted_by_hand_is_created_again_only_after_a_refresh() -> None:
    unchanged = only("drift", Scenario({}, None))
    assert (unchanged.kind, unchanged.severity) == ("missing", Severity.DANGER)
    assert unchanged.message == "the topic was deployed, but is not on the cluster: it was deleted"
    assert unchanged.remedy.endswith("; `topicwarden up --refresh` creates it again, empty")
    assert unchanged.because == ["Pulumi's state still has it, so a deploy changes nothing"]
    changed = only("drift", Scenario({"segment.ms": "9"}, None))
    assert "and fail after it has changed other topics" in changed.because[0]
    assert "run `topicwarden refresh`, and the next deploy creates it again" in changed.remedy
    removed = only("drift", Scenario(None, None))
    assert removed.severity is Severity.REFUSED
    assert removed.because == ["its YAML did not allow `delete` when it was last deployed"]
    assert removed.remedy == "plan again; if somebody deleted it, `topicwarden refresh` forgets it"
    assert predicted("drift", Scenario(None, None, allow=[AllowedChange.DELETE])) == []


# What the plan says about changes that a service refuses, and about settings that it reports in its own way.

SETTING = "cleanup.policy"


def policy(service: str, before: str, after: str) -> Scenario:
    return Scenario({SETTING: after}, {SETTING: before}, service=PROFILES[service])


def test_a_change_of_the_cleanup_policy_that_the_service_refuses() -> None:
    found = only("fixed-policy", replace(policy("msk-serverless", "delete", "compact"), allow=tuple(AllowedChange)))
    assert found.message == (
        "cleanup.policy is delete and will be compact; MSK Serverless refuses this change of an existing topic"
    )
    assert found.severity is Severity.REFUSED
    assert found.because == [
        "see https://docs.aws.amazon.com/msk/latest/developerguide/serverless-config.html",
    ]
    assert "keep cleanup.policy: delete" in found.remedy


@pytest.mark.parametrize(
    ("service", "before", "after", "refused"),
    [
        ("apache", "delete", "compact", False),
        ("warpstream", "delete", "compact", True),
        ("warpstream", "compact", "compact,delete", False),
        ("warpstream", "delete,compact", "delete", True),
        ("confluent-cloud", "delete", "compact", False),
        ("confluent-cloud", "delete", "delete,compact", True),
        ("event-hubs", "compact", "delete", True),
        ("msk-express", "compact", "delete", False),
    ],
)
def test_each_service_refuses_its_own_changes(service: str, before: str, after: str, refused: bool) -> None:
    assert bool(predicted("fixed-policy", policy(service, before, after))) is refused


def test_a_policy_that_stays_a_new_topic_and_an_unknown_one_are_not_refused() -> None:
    change = policy("msk-serverless", "compact", "compact")
    assert predicted("fixed-policy", replace(change, partitions=4)) == []
    assert predicted("fixed-policy", replace(policy("msk-serverless", "delete", "compact"), live=None)) == []
    assert predicted("fixed-policy", replace(policy("msk-serverless", "delete", "compact"), visible_config=False)) == []
    assert predicted("fixed-policy", Scenario(None, {SETTING: "compact"}, service=PROFILES["msk-serverless"])) == []


@pytest.mark.parametrize(
    ("setting", "declared", "live"),
    [("cleanup.policy", "compact,delete", "delete,compact"), ("min.cleanable.dirty.ratio", "1", "1.0")],
)
def test_another_spelling_on_the_cluster_is_no_difference(setting: str, declared: str, live: str) -> None:
    """The provider compares by value, too, and adopts such a topic."""
    scenario = Scenario({setting: declared}, {setting: live}, in_state=False)
    assert only("foreign", scenario).kind == "adopted"
    assert scenario.change().as_live
    changed = Scenario({setting: declared, "segment.ms": "9"}, {setting: live}, deployed={setting: declared})
    assert [each.name for each in changed.change().settings] == ["segment.ms"]
    assert predicted("drift", changed) == []


def test_a_value_in_force_is_no_manual_change_whatever_its_source() -> None:
    """Redpanda reports a setting that was set to its default as not set."""
    scenario = Scenario({"retention.ms": "1"}, {}, deployed={"retention.ms": "604800000"}, service=PROFILES["redpanda"])
    assert predicted("drift", scenario) == []
    assert predicted("drift", replace(scenario, live={"retention.ms": "5"})) != []


def test_a_default_is_that_of_the_service() -> None:
    serverless = Scenario({}, {}, broker_configs={}, service=PROFILES["msk-serverless"]).snapshot()
    assert effective_defaults(serverless, "retention.bytes") == {str(250 << 30)}
    assert effective_defaults(serverless, "segment.bytes") == frozenset()
    assert effective_defaults(replace(serverless, service=PROFILES["apache"]), "retention.bytes") == frozenset()
    brokers = {1: {"log.retention.ms": "5"}, 2: {"broker.id": "2"}}
    redpanda = Scenario({}, {}, broker_configs=brokers, service=PROFILES["redpanda"]).snapshot()
    assert effective_defaults(redpanda, "retention.ms") == {"5"}
    assert effective_defaults(redpanda, "segment.bytes") == frozenset()
    assert differing_defaults(redpanda, "retention.ms") == {}
    apache = replace(redpanda, service=PROFILES["apache"])
    assert effective_defaults(apache, "segment.bytes") == {"1073741824"}


def test_the_value_in_force_on_a_topic_is_better_evidence_than_a_documented_default() -> None:
    brokers = {1: {"log.retention.bytes": "7"}}
    for service, bytes_in_force in (("msk-serverless", "-1"), ("apache", "7")):
        scenario = Scenario({"retention.ms": "5"}, {}, broker_configs=brokers, service=PROFILES[service])
        before = scenario.change().before
        assert before
        assert before.config["retention.bytes"] == bytes_in_force, service


def test_a_topic_that_stops_to_be_a_dead_letter_queue_loses_dead_letters() -> None:
    on, off = ({"errors.deadletterqueue.group.enable": value} for value in ("true", "false"))
    found = only("dead-letters", Scenario(off, on))
    assert (found.severity, bool(found.remedy)) == (Severity.DANGER, True)
    assert "lose the records that they cannot process" in found.message
    assert predicted("dead-letters", Scenario(on, off)) == []


@pytest.mark.parametrize(
    ("before", "after", "dangerous"),
    [
        (("0", "-1"), ("3600000", "-1"), True),
        (("3600000", "-1"), ("-1", "-1"), True),
        (("3600000", "1000"), ("3600000", "2000"), True),
        (("3600000", "-1"), ("0", "-1"), False),
        (("3600000", "-1"), ("3600000", "5"), False),
        (("0", "5"), ("0", "-1"), False),
    ],
)
def test_segments_that_are_copied_to_remote_storage_later_are_a_danger(
    before: tuple[str, str], after: tuple[str, str], dangerous: bool
) -> None:
    live, declared = (
        {"remote.copy.lag.ms": time, "remote.copy.lag.bytes": size, "remote.storage.enable": "true"}
        for time, size in (before, after)
    )
    found = predicted("remote-copy", Scenario(declared, live))
    assert [each.severity for each in found] == [Severity.DANGER] * dangerous
    local = {"remote.storage.enable": "false"}
    assert predicted("remote-copy", Scenario(declared | local, live | local)) == []


@pytest.mark.parametrize(
    ("rule", "declared", "live"),
    [
        ("retention-cut", {"retention.ms": str(HOUR), "retention.bytes": "5"}, {}),
        ("flush", {"flush.messages": "100", "flush.ms": "60000"}, {"flush.messages": "1", "flush.ms": "1000"}),
        ("timestamps", dict.fromkeys((f"message.timestamp.{each}.max.ms" for each in ("before", "after")), "1"), {}),
    ],
)
def test_a_loss_by_another_setting_is_a_new_loss(rule: str, declared: dict[str, str], live: dict[str, str]) -> None:
    first, second = predicted(rule, Scenario(declared, live, (hourly(240),)))
    for shown in (first, second):
        (new,) = new_losses(plan_of(shown), plan_of(first, second))
        assert new == f"t: {(second if shown is first else first).message}"


def plan_of(*consequences: Consequence) -> PlanReport:
    return PlanReport(
        topicwarden="",
        stack="dev",
        cluster_id=None,
        taken_at=0,
        topics=[TopicPlan(topic="t", action=Action.UPDATE, consequences=list(consequences))],
        unchanged=0,
        engine=PreviewResult(ran=True),
    )
