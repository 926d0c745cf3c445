"""Test what the provider decides about access from the properties alone: ids, entities, and who may remove it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pulumi  # noqa: F401 - otherwise the provider's stubs put an empty package in its place, for all other tests
import pytest

from topicwarden.deploy.access_state import acl_properties, quota_properties
from topicwarden.deploy.provider.acl_type import ACL, parsed_acl_id
from topicwarden.deploy.provider.deletion_guard import DeletionGuard, check_access
from topicwarden.deploy.provider.group_config_type import GROUP_CONFIG
from topicwarden.deploy.provider.quota_type import CLIENT_QUOTA, QUOTA, parsed_quota_id
from topicwarden.deploy.provider.resource_type import PulumiType
from topicwarden.deploy.provider.scram_type import SCRAM, parsed_credential_id
from topicwarden.model.access import Acl, DeployedAccess, Operation, PatternType, PermissionType, ResourceType
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Allowance, AllowedChange, Topic
from topicwarden.plan.deployed_stack import DeployedStack, DeployedTopic

READ = Acl("User:CN=a|b,OU=c", "*", Operation.READ, PermissionType.ALLOW, ResourceType.GROUP, "g|h|*")
PREFIXED = Acl(
    "User:a|Read|Allow", "::1", Operation.ALL, PermissionType.DENY, ResourceType.TOPIC, "t", PatternType.PREFIXED
)
TODAY = datetime.now(UTC).date()


@pytest.mark.parametrize("acl", [READ, PREFIXED])
def test_the_id_of_an_acl_names_exactly_one_acl(acl: Acl) -> None:
    properties = acl_properties(acl)
    assert parsed_acl_id(ACL.id_of(properties)) == properties


@pytest.mark.parametrize("id", ["", "User:a|*|Read|Allow|Topic|t", "User:a|*|Look|Allow|Topic|t|Literal"])
def test_an_id_that_names_no_acl_is_refused(id: str) -> None:
    with pytest.raises(ValueError, match="the id of an ACL has 7 parts"):
        parsed_acl_id(id)


@pytest.mark.parametrize(
    ("kind", "entity"),
    [
        (QUOTA, (("user", "a|b"),)),
        (QUOTA, (("ip", None),)),
        (CLIENT_QUOTA, (("client-id", None), ("user", "a"))),
        (CLIENT_QUOTA, (("client-id", "c"), ("user", "a|user"))),
    ],
)
def test_the_id_of_a_quota_names_its_entity(kind: PulumiType, entity: tuple[tuple[str, str | None], ...]) -> None:
    assert parsed_quota_id(kind.id_of(quota_properties(entity, {}))) == entity


@pytest.mark.parametrize(
    ("id", "parts"),
    [
        ("a|SCRAM-SHA-256", ("a", "SCRAM-SHA-256", None, None)),
        ("a|b|SCRAM-SHA-512", ("a|b", "SCRAM-SHA-512", None, None)),
        ("a|SCRAM-SHA-256|secret", ("a", "SCRAM-SHA-256", "secret", None)),
        ("a|SCRAM-SHA-256||orders@3", ("a", "SCRAM-SHA-256", None, "orders@3")),
    ],
)
def test_the_id_of_a_credential_may_have_a_password_or_its_version(id: str, parts: tuple[str | None, ...]) -> None:
    assert parsed_credential_id(id) == parts


@pytest.mark.parametrize(
    ("kind", "inputs", "failures"),
    [
        (CLIENT_QUOTA, {"entity": {"user": "a", "client-id": ""}, "config": {"producer_byte_rate": "1"}}, []),
        (CLIENT_QUOTA, {"entity": {"user": "a"}, "config": {}}, ["entity"]),
        (CLIENT_QUOTA, {"entity": {"user": "a", "topic": "b"}, "config": {}}, ["entity"]),
        (CLIENT_QUOTA, {"config": {"producer_byte_rate": "x"}}, ["entity", "config"]),
        (GROUP_CONFIG, {"group": "g", "config": {"consumer.session.timeout.ms": "1"}}, []),
        (GROUP_CONFIG, {"group": "g"}, ["config"]),
    ],
)
def test_inputs_of_our_own_types_are_checked(kind: PulumiType, inputs: dict[str, object], failures: list[str]) -> None:
    assert [failure.property for failure in kind.check(inputs, {}, None)[1]] == failures


def test_a_write_only_password_is_in_no_inputs_that_the_engine_keeps() -> None:
    user = {"username": "a", "scramMechanism": "SCRAM-SHA-256", "scramIterations": 4096.0}
    inputs = {**user, "passwordWo": "secret", "passwordWoVersion": "v@1"}
    kept, hidden = SCRAM.split_write_only(SCRAM.check(inputs, {}, None)[0])
    assert hidden == {"passwordWo": "secret"}
    assert "secret" not in str(kept)
    difference = SCRAM.difference(kept, {**kept, "passwordWoVersion": "v@2"})
    assert (difference.changed, difference.replaced) == (("passwordWoVersion",), ())


def test_changed_rates_do_not_replace_a_quota_and_another_entity_does() -> None:
    old = quota_properties((("client-id", None), ("user", "a")), {"producer_byte_rate": 1.0})
    faster = quota_properties((("client-id", None), ("user", "a")), {"producer_byte_rate": 2.0})
    other = quota_properties((("client-id", None), ("user", "b")), {"producer_byte_rate": 1.0})
    assert CLIENT_QUOTA.difference(old, faster).replaced == ()
    assert CLIENT_QUOTA.difference(old, other).replaced == ("entity",)


def test_access_that_a_program_registers_is_kept_whatever_resource_is_deleted() -> None:
    guard, id = DeletionGuard(), ACL.id_of(acl_properties(READ))
    assert not guard.judged
    guard.register_access(ACL.token, id)
    assert guard.keeps_access(ACL.token, id)
    assert not guard.keeps_access(QUOTA.token, id)
    assert not guard.keeps_access(ACL.token, ACL.id_of(acl_properties(PREFIXED)))
    assert guard.judged


def allowing(change: AllowedChange, days: int = 1) -> frozenset[Allowance]:
    return frozenset({Allowance(change, TODAY + timedelta(days))})


def deployed(topic: frozenset[Allowance] = frozenset(), access: frozenset[Allowance] = frozenset()) -> DeployedStack:
    declared = Topic("t", 1, 1, allow=topic)
    return DeployedStack(
        {"t": DeployedTopic("t", 1, 1, {}, declared)},
        access=DeployedAccess(acls=frozenset({READ, PREFIXED}), topics={READ: ("t",)}, allow=access),
    )


@pytest.mark.parametrize(
    ("state", "acl", "refused"),
    [
        (deployed(), READ, "revoke-access"),
        (deployed(topic=allowing(AllowedChange.REVOKE_ACCESS)), READ, None),
        (deployed(topic=allowing(AllowedChange.REVOKE_ACCESS, days=-1)), READ, "revoke-access"),
        (deployed(topic=allowing(AllowedChange.OPEN_ACCESS)), PREFIXED, "open-access"),
        (deployed(access=allowing(AllowedChange.OPEN_ACCESS)), PREFIXED, None),
        (deployed(access=allowing(AllowedChange.REVOKE_ACCESS)), None, "remove-credential"),
        (deployed(access=allowing(AllowedChange.REMOVE_CREDENTIAL)), None, None),
    ],
)
def test_a_command_without_a_program_removes_only_access_that_the_yaml_allows(
    state: DeployedStack, acl: Acl | None, refused: str | None
) -> None:
    if refused is None:
        check_access(state, acl, "it")
        return
    with pytest.raises(Refusal, match=rf"write `allow: \[{refused}\]`"):
        check_access(state, acl, "it")
