"""Test a state that has the records of two names: a deploy after `pulumi stack rename` ended before its deletions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pytest

from tests.support.access_names import ACL_TYPE, acl_name, acl_properties
from topicwarden.deploy.stack_state import deployed_stack
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.topic.resource import SET_TYPE, TOPIC_PATH
from topicwarden.model.access import Acl, Operation, PermissionType, ResourceType
from topicwarden.model.deployed_stack import DeployedStack
from topicwarden.model.topic import AllowedChange

FILE = "topics/orders.yaml"
READ = Acl("User:a", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "orders")
TOPIC = {"name": "orders", "partitions": 1, "replicationFactor": 1, "config": {}}
ALLOWED: Sequence[Mapping[str, str]] = [{"change": "delete"}, {"change": "revoke-access"}]


def resource(path: str, name: str, outputs: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": path.rpartition("$")[2], "urn": f"urn:pulumi:live::shop::{path}::{name}", "outputs": outputs}


def topic_set(stack: str, cluster: str, allow: Sequence[Mapping[str, str]]) -> Mapping[str, Any]:
    record = {**TOPIC, "file": FILE, "allow": allow}
    return resource(SET_TYPE, stack, {"declared": {"orders": record}, "clusterId": cluster})


def access_set(stack: str, allow: Sequence[Mapping[str, str]]) -> Mapping[str, Any]:
    return resource(ACCESS_SET_TYPE, stack, {"declared": {acl_name(READ): {"in": [FILE]}}, "allow": {FILE: allow}})


def deployed(*sets: Mapping[str, Any], reverse: bool) -> DeployedStack:
    acl = resource(f"{ACCESS_SET_TYPE}${ACL_TYPE}", acl_name(READ), acl_properties(READ))
    return deployed_stack([*(reversed(sets) if reverse else sets), resource(TOPIC_PATH, "orders", TOPIC), acl])


@pytest.mark.parametrize("reverse", [False, True])
def test_a_withdrawn_allowance_of_the_older_name_is_not_in_force(reverse: bool) -> None:
    older = topic_set("before", "old", ALLOWED), access_set("before", ALLOWED)
    stack = deployed(topic_set("live", "new", []), access_set("live", []), *older, reverse=reverse)
    declared = stack.topics["orders"].declared
    assert declared is not None
    assert (stack.cluster_id, [*declared.allowed(date(2030, 1, 1))]) == ("new", [])
    assert (stack.access.homes, stack.access.allow) == ({READ: (FILE,)}, {FILE: frozenset()})


@pytest.mark.parametrize("reverse", [False, True])
def test_a_deploy_that_was_killed_before_it_recorded_anything_leaves_the_older_record_in_force(reverse: bool) -> None:
    older = topic_set("before", "old", ALLOWED), access_set("before", ALLOWED)
    empty = resource(SET_TYPE, "live", {}), resource(ACCESS_SET_TYPE, "live", {})
    stack = deployed(*empty, *older, reverse=reverse)
    declared = stack.topics["orders"].declared
    assert declared is not None
    assert stack.cluster_id == "old"
    assert AllowedChange.DELETE in declared.allowed(date(2030, 1, 1))
    assert [each.change for each in stack.access.allow[FILE]] != []
