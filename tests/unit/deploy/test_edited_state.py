"""Test that resources in Pulumi's state that were edited, or whose values are secrets, are refused by their URN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.access_names import ACL_TYPE, QUOTA_TYPE, SCRAM_TYPE, quota_name, user_name
from topicwarden.deploy.preview import _section
from topicwarden.deploy.provider.deletion_guard import DeletionGuard
from topicwarden.deploy.pulumi_commands import stale
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.properties import secret
from topicwarden.kinds.quota.resource import CLIENT_QUOTA_TYPE
from topicwarden.kinds.subject.resource import SUBJECT_SET_TYPE, SUBJECT_TYPE
from topicwarden.kinds.topic.change import changes
from topicwarden.kinds.topic.consequences import duplicate
from topicwarden.kinds.topic.evidence import PlanEvidence
from topicwarden.kinds.topic.resource import SET_TYPE, TOPIC_PATH, TOPIC_TYPE
from topicwarden.model.planned_change import PlanSection, Severity
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.plan.engine_steps import EngineStep, ResourceNames

LIMIT = {"entityName": "a", "entityType": "user"}
QUOTA = quota_name((("user", "a"),))
SUBJECT = {"subject": "s", "format": "avro", "schema": "{}"}
TOPIC = {"name": "t", "partitions": 1, "replicationFactor": 1}
HIDDEN = {**secret(None), "ciphertext": "v1:abc"}


def resource(path: str, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::shop::{path}::{name}"
    return {"type": path.rpartition("$")[2], "urn": urn, "id": name, "inputs": properties, "outputs": properties}


@pytest.mark.parametrize(
    ("path", "name", "properties"),
    [
        (f"{ACCESS_SET_TYPE}${QUOTA_TYPE}", QUOTA, {**LIMIT, "config": {"producer_byte_rate": "abc"}}),
        (f"{ACCESS_SET_TYPE}${QUOTA_TYPE}", QUOTA, {**LIMIT, "config": "abc"}),
        (f"{ACCESS_SET_TYPE}${QUOTA_TYPE}", QUOTA, {**LIMIT, "config": HIDDEN}),
        (f"{ACCESS_SET_TYPE}${SCRAM_TYPE}", user_name("a", "b"), {"username": "a", "scramMechanism": "b"}),
        (f"{ACCESS_SET_TYPE}${ACL_TYPE}", "x", {"aclPrincipal": "a"}),
        (f"{SUBJECT_SET_TYPE}${SUBJECT_TYPE}", "s", {"subject": "s", "format": "avro"}),
        (f"{SUBJECT_SET_TYPE}${SUBJECT_TYPE}", "s", {**SUBJECT, "compatibility": "SOME"}),
        (f"{SUBJECT_SET_TYPE}${SUBJECT_TYPE}", "s", {**SUBJECT, "schema": HIDDEN}),
    ],
)
def test_edited_access_and_subjects_are_undeclared(path: str, name: str, properties: Mapping[str, Any]) -> None:
    edited = resource(path, name, properties)
    stack = deployed_stack([edited])
    assert [(each.urn, each.key) for each in stack.access.undeclared] == [(edited["urn"], edited["urn"])]
    assert (stack.access.parts, stack.subjects) == ({}, {})


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"name": "t", "partitions": 1},
        {**TOPIC, "partitions": HIDDEN},
        {**TOPIC, "config": HIDDEN},
        {**TOPIC, "config": {"retention.ms": HIDDEN}},
        {**TOPIC, "config": "abc"},
    ],
)
def test_an_edited_topic_is_refused(properties: Mapping[str, Any]) -> None:
    edited = resource(TOPIC_PATH, "t", properties)
    stack = deployed_stack([edited])
    assert edited["type"] == TOPIC_TYPE
    assert not stack.topics
    snapshot = Snapshot("id", 0, {}, {}, {})
    (change,) = changes([], stack, snapshot)
    (consequence,) = duplicate.evaluate(change, PlanEvidence(snapshot))
    assert consequence.severity is Severity.REFUSED
    assert edited["urn"] in consequence.message


def test_a_topic_that_a_deploy_deleted_and_could_not_create_again_is_not_deployed() -> None:
    """Another client may have created it since; the engine only removes the resource, and deletes nothing."""
    stack = deployed_stack([{**resource(TOPIC_PATH, "t", TOPIC), "pendingReplacement": True}])
    assert not stack.topics
    assert not stack.duplicates
    assert stack.uncreated == {"t"}
    DeletionGuard().check_adoption("t", stack)  # refuses nothing


ELSEWHERE = {"id": "another"}
KEPT = ({"retainOnDelete": True}, {"deletedWith": f"urn:pulumi:dev::shop::{TOPIC_TYPE}::u"})
USER = {"username": "a", "scramMechanism": "SCRAM-SHA-256", "scramIterations": 4096}


@pytest.mark.parametrize("marks", [ELSEWHERE, *KEPT])
def test_a_topic_that_the_engine_would_not_write_or_delete_as_planned_is_refused(marks: dict[str, Any]) -> None:
    """The id names the topic that the provider changes; the others let a deletion remove the resource only."""
    stack = deployed_stack([resource(TOPIC_PATH, "t", TOPIC) | marks])
    assert [each.edited for each in stack.duplicates["t"]] == [True]


@pytest.mark.parametrize("marks", [ELSEWHERE, *KEPT])
@pytest.mark.parametrize(
    ("path", "name", "id", "properties"),
    [
        (f"{ACCESS_SET_TYPE}${QUOTA_TYPE}", QUOTA, "a|user", {**LIMIT, "config": {"producer_byte_rate": "1"}}),
        (f"{ACCESS_SET_TYPE}${SCRAM_TYPE}", user_name("a", "SCRAM-SHA-256"), "a|SCRAM-SHA-256", USER),
        (f"{SUBJECT_SET_TYPE}${SUBJECT_TYPE}", "s", "s", SUBJECT),
    ],
)
def test_access_and_subjects_that_the_engine_would_not_write_or_delete_as_planned_are_undeclared(
    path: str, name: str, id: str, properties: Mapping[str, Any], marks: dict[str, Any]
) -> None:
    """With another id, they are refused even if the YAML declares them: see ``AccessChange.undeclared``."""
    record = {"declared": {name: {"in": ["access/a.yaml"], "names": ["producer_byte_rate"]}}}
    component = resource(ACCESS_SET_TYPE, "dev", record)
    written = resource(path, name, properties) | {"id": id}
    assert not deployed_stack([component, written]).access.undeclared
    (undeclared,) = deployed_stack([component, written | marks]).access.undeclared
    assert (undeclared.urn, undeclared.as_declared) == (written["urn"], False)
    assert undeclared.key == undeclared.urn or marks != ELSEWHERE


RECORDS: list[Any] = [None, "x", 5, ["x"], {"x": 1}, {"in": 5}, {"in": ["f"], "names": 5}, {"allow": "x"}]


@pytest.mark.parametrize("record", [*RECORDS, {"allow": [{"change": "delete", "until": 5}]}])
def test_an_edited_record_of_a_topic_allows_nothing(record: Any) -> None:
    topic, components = resource(TOPIC_PATH, "t", TOPIC), ({"declared": {"t": record}}, {"declared": record}, record)
    for outputs in components:
        stack = deployed_stack([resource(SET_TYPE, "dev", outputs), topic])
        assert stack.topics.keys() | stack.duplicates.keys() == {"t"}
        assert not any(stack.allow.values())


@pytest.mark.parametrize("record", RECORDS)
def test_access_with_an_edited_record_is_undeclared(record: Any) -> None:
    quota = resource(f"{ACCESS_SET_TYPE}${QUOTA_TYPE}", QUOTA, {**LIMIT, "config": {"producer_byte_rate": "1"}})
    components = ({"declared": {QUOTA: record}, "allow": record, "passwords": record}, {"declared": record}, record)
    for outputs in components:
        access = deployed_stack([resource(ACCESS_SET_TYPE, "dev", outputs), quota | {"id": "a|user"}]).access
        assert [each.urn for each in access.undeclared] == [quota["urn"]]
        assert not any(access.allow.values())


def test_a_word_of_a_newer_version_allows_nothing() -> None:
    allow = [{"change": "a-word-of-a-newer-version"}, {"change": "delete-subject"}]
    record = {"declared": {"t": {"file": "f", "partitions": 1, "replicationFactor": 1, "config": {}, "allow": allow}}}
    subject = resource(f"{SUBJECT_SET_TYPE}${SUBJECT_TYPE}", "s", {**SUBJECT, "allow": allow})
    stack = deployed_stack([resource(SET_TYPE, "dev", record), resource(TOPIC_PATH, "t", TOPIC), subject])
    known = {Allowance(AllowedChange.DELETE_SUBJECT)}
    assert stack.topics["t"].declared is not None
    assert stack.topics["t"].declared.allow == stack.allow["t"] == stack.subjects["s"].allow == known


def test_the_step_of_an_edited_resource_has_a_section() -> None:
    step = EngineStep("delete", f"urn:pulumi:dev::shop::{CLIENT_QUOTA_TYPE}::mine", CLIENT_QUOTA_TYPE)
    for properties in ({}, {"entity": "x"}):
        edited = replace(step, properties=properties)
        assert _section(edited, {PlanSection.ACCESS: ResourceNames()}) is PlanSection.ACCESS


@pytest.mark.parametrize(
    ("properties", "differs"),
    [
        (TOPIC, True),
        ({**TOPIC, "replicationFactor": 3}, False),
        ({**TOPIC, "replicationFactor": 3, "config": {"leader.replication.throttled.replicas": "0:1"}}, True),
        ({**TOPIC, "name": "other"}, False),
        ({}, False),
        ({"name": "t", "partitions": 1}, False),
        ({**TOPIC, "replicationFactor": HIDDEN}, False),
    ],
)
def test_topics_that_were_edited_are_not_refreshed_after_a_move(properties: Mapping[str, Any], differs: bool) -> None:
    edited = resource(TOPIC_PATH, "t", properties)
    engine: Any = SimpleNamespace(resources=lambda: [edited])
    assert stale(engine, {"t": 3}) == ([edited["urn"]] if differs else [])
