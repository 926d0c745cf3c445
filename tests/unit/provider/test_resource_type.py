"""Test checks and differences of resources. ``tests/engine/provider`` compares them with the official provider."""

from __future__ import annotations

import pytest

from topicwarden.deploy.provider.acl_type import ACL
from topicwarden.deploy.provider.properties import UNKNOWN, from_struct, has_unknown, secret, to_struct
from topicwarden.deploy.provider.quota_type import QUOTA
from topicwarden.deploy.provider.resource_type import ResourceType
from topicwarden.deploy.provider.scram_type import SCRAM
from topicwarden.deploy.provider.topic_type import TOPIC

BASE = {"name": "t", "partitions": 3.0, "replicationFactor": 2.0, "config": {"retention.ms": "5"}}
ACCESS = {
    "aclPrincipal": "User:a",
    "aclHost": "*",
    "aclOperation": "Read",
    "aclPermissionType": "Allow",
    "aclResourceType": "Topic",
    "aclResourceName": "t",
}
USER = {"username": "u", "scramMechanism": "SCRAM-SHA-256"}


@pytest.mark.parametrize(
    ("kind", "inputs", "failures"),
    [
        (TOPIC, BASE, []),
        (TOPIC, {**BASE, "partitions": 0.0}, [("partitions", "expected at least 1, got 0")]),
        (TOPIC, {**BASE, "config": "x"}, [("config", "expected a map, got str")]),
        (TOPIC, {"name": "t"}, [("partitions", "missing"), ("replicationFactor", "missing")]),
        (TOPIC, {**BASE, "extra": 1.0}, [("extra", "unknown property")]),
        (TOPIC, {**BASE, "partitions": UNKNOWN, "config": UNKNOWN}, []),
        (ACL, ACCESS, []),
        (ACL, {**ACCESS, "aclOperation": "Look"}, [("aclOperation", "expected one of All, Read")]),
        (ACL, {**ACCESS, "resourcePatternTypeFilter": "Any"}, [("resourcePatternTypeFilter", "Literal, Prefixed")]),
        (QUOTA, {"entityType": "user", "config": {"producer_byte_rate": "x"}}, [("config", "expected a number")]),
        (QUOTA, {"entityType": "topic"}, [("entityType", "expected one of client-id, user, ip")]),
        (SCRAM, {**USER, "password": "p"}, []),
        (SCRAM, {**USER, "password": "p", "passwordWo": "q"}, [("password", "got both")]),
        (SCRAM, USER, [("password", "got neither")]),
        (SCRAM, {**USER, "password": " "}, [("password", "only spaces")]),
        (SCRAM, {**USER, "password": "p", "scramIterations": 9.0}, [("scramIterations", "at least 4096")]),
    ],
)
def test_inputs_are_checked(kind: ResourceType, inputs: dict[str, object], failures: list[tuple[str, str]]) -> None:
    _, found = kind.check(inputs, {}, "new")
    assert [failure.property for failure in found] == [name for name, _ in failures]
    assert all(reason in failure.reason for failure, (_, reason) in zip(found, failures, strict=True))


def test_a_topic_without_a_name_keeps_the_name_that_it_got() -> None:
    unnamed = {key: value for key, value in BASE.items() if key != "name"}
    inputs, _ = TOPIC.check(unnamed, {}, "t-1")
    assert (inputs["name"], inputs["__defaults"]) == ("t-1", ["name"])
    assert TOPIC.check(unnamed, inputs, "t-2")[0]["name"] == "t-1"
    assert [failure.property for failure in TOPIC.check(unnamed, {}, None)[1]] == ["name"]


@pytest.mark.parametrize(
    ("news", "paths", "replaced"),
    [
        (BASE, {}, ()),
        ({**BASE, "partitions": 5.0}, {"partitions": "UPDATE"}, ()),
        ({**BASE, "partitions": 2.0}, {"partitions": "UPDATE_REPLACE"}, ("partitions",)),
        ({**BASE, "name": "u"}, {"name": "UPDATE_REPLACE"}, ("name",)),
        ({**BASE, "config": {"retention.ms": 5.0}}, {}, ()),  # the same as text
        ({**BASE, "config": {}}, {'config["retention.ms"]': "DELETE"}, ()),
        ({**BASE, "config": {"retention.ms": "5", "x": True}}, {"config.x": "ADD"}, ()),
        ({**BASE, "config": {"retention.ms": UNKNOWN}}, {"config": "UPDATE"}, ()),
    ],
)
def test_differences_of_a_topic(news: dict[str, object], paths: dict[str, str], replaced: tuple[str, ...]) -> None:
    difference = TOPIC.difference(BASE, news)
    assert (difference.paths, difference.replaced) == (paths, replaced)
    assert TOPIC.difference(BASE, news, list(BASE)).paths == {}


def test_a_password_is_marked_as_a_secret_and_a_write_only_one_is_left_out() -> None:
    outputs = SCRAM.outputs("id", {**USER, "password": "p", "passwordWo": "q"}, secrets=True)
    assert (outputs["password"], outputs["passwordWo"]) == (secret("p"), secret(None))
    assert SCRAM.marked({**USER, "password": "p"}, secrets=True)["password"] == secret("p")


def test_properties_survive_the_wire_and_secrets_are_opened() -> None:
    properties = {"a": "x", "b": 1.0, "c": True, "d": None, "e": [1.0, "y"], "f": {"g": secret("s")}}
    assert from_struct(to_struct(properties)) == {**properties, "f": {"g": "s"}}
    assert has_unknown({"a": [{"b": UNKNOWN}]})
    assert not has_unknown(properties)
