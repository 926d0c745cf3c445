"""Test the OpenLineage events of an audit, which the published JSON Schemas must accept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from tests.support import reports
from tests.support.http_answers import openlineage_errors
from topicwarden.model.finding import OF_CLUSTER, AuditReport, Finding
from topicwarden.model.problem import Location
from topicwarden.model.verdict import Verdict
from topicwarden.operations.catalogues.openlineage_events import run_events
from topicwarden.operations.catalogues.publisher import CatalogueTarget, kafka_namespace
from topicwarden.specs.stacks.delivery_settings import CatalogueSettings

TARGET = CatalogueTarget(CatalogueSettings("file", file=Path("x")), "kafka://b:9092")


def finding(check: str, verdict: Verdict, topic: str = "orders", **parts: Any) -> Finding:
    return Finding(check=check, verdict=verdict, topic=topic, **parts)


def audited(*findings: Finding) -> AuditReport:
    return reports.report([reports.topic("orders", [5], owner="team-orders")], list(findings))


def events_of(report: AuditReport) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run_events(report, TARGET)]


def completed(report: AuditReport) -> dict[str, Any]:
    _, complete = events_of(report)
    assert openlineage_errors(complete) == []
    return complete


@pytest.mark.parametrize("draw", [reports.rich, reports.empty, reports.thousand], ids=["rich", "empty", "large"])
def test_the_published_schemas_accept_each_event(draw: Callable[[], AuditReport]) -> None:
    report = draw()
    events = events_of(report)
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    assert [openlineage_errors(event) for event in events] == [[], []]
    assert {dataset["name"] for dataset in events[1]["inputs"]} >= {topic.name for topic in report.topics}


def test_the_validation_of_these_tests_finds_errors() -> None:
    event = completed(audited(finding("retention-time", Verdict.PASS)))
    event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"][0]["success"] = "yes"
    del event["job"]["name"]
    assert len(openlineage_errors(event)) == 2


def test_a_pass_and_a_fail_are_assertions_of_the_topic() -> None:
    location = Location("topics/orders.yaml", 3, 5)
    report = audited(
        finding("retention-time", Verdict.FAIL, message="too old", remedy="look", partitions=[1], location=location),
        finding("retention-time", Verdict.PASS, partitions=[0]),
        finding("topic-config", Verdict.PASS),
    )
    (dataset,) = completed(report)["inputs"]
    assert (dataset["namespace"], dataset["name"]) == ("kafka://b:9092", "orders")
    assert dataset["facets"]["ownership"]["owners"] == [{"name": "team-orders", "type": "OWNER"}]
    details = {"message": "too old", "remedy": "look", "location": "topics/orders.yaml:3:5"}
    assert dataset["inputFacets"]["dataQualityAssertions"]["assertions"] == [
        {"assertion": "retention-time", "success": False, "severity": "error", "params": details},
        {"assertion": "topic-config", "success": True},
    ]
    assert completed(report)["run"]["facets"] == {}


def test_a_verdict_without_proof_is_a_test_of_the_run_and_no_assertion() -> None:
    event = completed(
        audited(
            finding("duplicates", Verdict.SUSPECT, message="perhaps"),
            finding("key-schema", Verdict.UNDECIDABLE, because=["no registry"]),
            finding("key-schema", Verdict.PASS, partitions=[1]),
        )
    )
    assert event["inputs"][0]["inputFacets"] == {}
    suspect, skipped = event["run"]["facets"]["test"]["tests"]
    assert (suspect["name"], suspect["status"], suspect["severity"]) == ("orders:duplicates", "fail", "warn")
    assert (skipped["name"], skipped["status"], "severity" in skipped) == ("orders:key-schema", "skip", False)
    assert skipped["params"] == {"topic": "orders", "verdict": "undecidable", "message": "no registry"}


def test_a_finding_on_the_cluster_is_a_test_of_the_run_and_no_dataset() -> None:
    event = completed(audited(finding("unused-access", Verdict.FAIL, OF_CLUSTER, message="an ACL")))
    assert [dataset["name"] for dataset in event["inputs"]] == ["orders"]
    (test,) = event["run"]["facets"]["test"]["tests"]
    assert (test["name"], test["status"], test["severity"]) == ("(cluster):unused-access", "fail", "error")


def test_the_run_has_a_stable_id_that_another_audit_does_not_have() -> None:
    report = audited()
    first, again = events_of(report), events_of(report.model_copy())
    later = events_of(report.model_copy(update={"started": report.started + 1}))
    other = events_of(report.model_copy(update={"stack": "dev"}))
    assert json.dumps(first) == json.dumps(again)
    ids = [events[0]["run"]["runId"] for events in (first, later, other)]
    assert len(set(ids)) == 3
    assert all(UUID(each).version == 7 and UUID(each).variant == "specified in RFC 4122" for each in ids)
    assert int(ids[0].replace("-", "")[:12], 16) == report.started
    assert first[0]["job"] | {"facets": {}} == {"namespace": "topicwarden", "name": "audit.prod", "facets": {}}
    assert (first[0]["eventTime"], first[1]["eventTime"]) == (
        "2025-10-09T08:53:20.000+00:00",
        "2025-10-09T08:53:29.400+00:00",
    )


def test_the_namespace_of_a_cluster_does_not_depend_on_the_order_of_brokers() -> None:
    assert kafka_namespace(["B-2:9093", "b-1:9093"]) == kafka_namespace(("b-1:9093", "b-2:9093")) == "kafka://b-1:9093"


def test_a_long_message_is_shortened_and_control_characters_are_escaped() -> None:
    event = completed(audited(finding("topic-config", Verdict.FAIL, message="\x1b[31m" + "x" * 5_000)))
    (assertion,) = event["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    message = assertion["params"]["message"]
    assert len(message) == 1_000 and "\x1b" not in message
