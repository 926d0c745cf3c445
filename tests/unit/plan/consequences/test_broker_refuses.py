"""Test what a plan asks the brokers to validate, and what it says about a change that they would refuse."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.plan.consequences.scenario import NOW, Scenario
from topicwarden.kafka.read.refused_changes import ValidatedChange
from topicwarden.kafka_facts.services import PROFILES
from topicwarden.kinds.topic.consequences import broker_refuses
from topicwarden.kinds.topic.evidence import PlanEvidence, RequiredEvidence, gather
from topicwarden.model.planned_change import Consequence, Severity


def validated(scenario: Scenario) -> ValidatedChange | None:
    required = broker_refuses.needs(scenario.change(), NOW)
    return required.validated if required else None


def consequences(scenario: Scenario, reason: str | None) -> list[Consequence]:
    evidence = PlanEvidence(scenario.snapshot(), refused=reason)
    return list(broker_refuses.evaluate(scenario.change(), evidence))


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        (
            Scenario({"segment.ms": "9"}, None, in_state=False, partitions=4, factor=3),
            ValidatedChange((("segment.ms", "9"),), 4, 3),
        ),
        (
            Scenario({"segment.ms": "9"}, {"flush.ms": "1"}),
            ValidatedChange((("flush.ms", None), ("segment.ms", "9"))),
        ),
        (
            Scenario({"segment.ms": "9"}, {"flush.ms": "1"}, deployed={}),
            ValidatedChange((("segment.ms", "9"),)),
        ),
        (Scenario({"segment.ms": "9"}, {"segment.ms": "9"}, partitions=4), None),
        (Scenario({"segment.ms": "9"}, {"segment.ms": "8"}, deployed={"segment.ms": "9"}), None),
        (Scenario({"segment.ms": "9"}, {"segment.ms": "8"}, in_state=False), None),
        (Scenario(None, {}), None),
    ],
    ids=["created", "changed", "left", "partitions", "drift", "adopted", "deleted"],
)
def test_brokers_validate_what_the_deploy_writes(scenario: Scenario, expected: ValidatedChange | None) -> None:
    assert validated(scenario) == expected


def test_a_new_topic_is_refused_with_the_brokers_reason() -> None:
    new = Scenario({}, None, in_state=False)
    (found,) = consequences(new, "Topic 'a.b' collides with existing topic: a_b")
    assert found.severity is Severity.REFUSED
    assert found.message == "Kafka refuses the topic: Topic 'a.b' collides with existing topic: a_b"
    assert consequences(new, None) == []


def test_a_setting_that_nobody_declares_is_named_as_the_cause() -> None:
    lags = {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "9"}
    scenario = Scenario({"max.compaction.lag.ms": "1"}, lags, deployed={"max.compaction.lag.ms": "9"})
    (found,) = consequences(scenario, "min.compaction.lag.ms (9) > max.compaction.lag.ms (1)")
    assert found.message.startswith("Kafka refuses the change: min.compaction.lag.ms")
    assert found.because == ["no YAML declares min.compaction.lag.ms, which is set on the topic"]
    assert found.remedy == (
        "declare min.compaction.lag.ms, or remove it with `kafka-configs --alter --delete-config min.compaction.lag.ms`"
    )


@pytest.mark.parametrize(("service", "judges"), [("apache", True), ("msk", True), ("redpanda", False)])
def test_only_brokers_with_the_code_of_apache_kafka_judge(service: str, judges: bool) -> None:
    scenario = Scenario({"segment.ms": "9"}, {}, service=PROFILES[service])
    cluster = SimpleNamespace(
        refused_changes=lambda changes: dict.fromkeys(changes, "why"),
        groups=lambda names: (),
        local_starts=lambda partitions: {},
        newest_records=lambda topics: {},
        largest_batches=lambda snapshot, names: {},
        first_offsets_at=lambda times: {},
    )
    required = broker_refuses.needs(scenario.change(), NOW)
    assert required is not None
    evidence = gather(cast(Any, cluster), scenario.snapshot(), {"t": required | RequiredEvidence()})["t"]
    assert evidence.refused == ("why" if judges else None)
    assert replace(required, validated=None) == RequiredEvidence()
