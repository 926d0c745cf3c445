"""Test that resources in Pulumi's state that were edited, or whose values are secrets, are refused by their URN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.access_names import ACL_TYPE, QUOTA_TYPE, SCRAM_TYPE, quota_name, user_name
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.kafka.read.snapshot import Snapshot
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.properties import secret
from topicwarden.kinds.subject.resource import SUBJECT_SET_TYPE, SUBJECT_TYPE
from topicwarden.kinds.topic.change import changes
from topicwarden.kinds.topic.consequences import duplicate
from topicwarden.kinds.topic.evidence import PlanEvidence
from topicwarden.kinds.topic.resource import TOPIC_PATH, TOPIC_TYPE
from topicwarden.model.planned_change import Severity

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
        (f"{SUBJECT_SET_TYPE}${SUBJECT_TYPE}", "s", {**SUBJECT, "allow": [{"change": "a-word-of-a-newer-version"}]}),
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
