"""Test what the plan says about changes that a service refuses, and about settings that it reports in its own way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.plan.consequences.scenario import Scenario, only, predicted
from topicwarden.kafka.read.effective_defaults import differing_defaults, effective_defaults
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.model.planned_change import Severity
from topicwarden.model.topic import AllowedChange

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
