"""Test what the provider decides about access from the properties alone: ids, entities, and who may remove it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pulumi  # noqa: F401 - otherwise the provider's stubs put an empty package in its place, for all other tests
import pytest

from tests.support.access_names import (
    ACL_TYPE,
    CLIENT_QUOTA_TYPE,
    GROUP_CONFIG_TYPE,
    QUOTA_TYPE,
    SCRAM_TYPE,
    acl_properties,
    quota_properties,
    resource_name,
)
from tests.support.access_parts import deployed_access
from topicwarden.deploy.provider.deletion_guard import DeletionGuard, check_access
from topicwarden.kafka.write.admin_session import AdminSession
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE
from topicwarden.kinds.acl.resource import ACL, parsed_acl_id
from topicwarden.kinds.batches import EngineCalls
from topicwarden.kinds.group_config.resource import GROUP_CONFIG
from topicwarden.kinds.quota.resource import CLIENT_QUOTA, QUOTA, parsed_quota_id, quota_entity_of
from topicwarden.kinds.resource_type import PulumiType
from topicwarden.kinds.scram_user.resource import SCRAM, Credentials, parsed_credential_id
from topicwarden.kinds.topic.resource import TOPIC_PATH
from topicwarden.model.access import (
    AccessKey,
    Acl,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    UndeclaredResource,
)
from topicwarden.model.deployed_stack import DeployedStack, DeployedTopic
from topicwarden.model.problem import Refusal
from topicwarden.model.topic import Allowance, AllowedChange, Topic

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
        (QUOTA, (("user", "entity-default"),)),
        (CLIENT_QUOTA, (("client-id", None), ("user", "a"))),
        (CLIENT_QUOTA, (("client-id", "c"), ("user", "a|user"))),
    ],
)
def test_the_id_of_a_quota_names_its_entity(kind: PulumiType, entity: tuple[tuple[str, str | None], ...]) -> None:
    assert parsed_quota_id(kind.id_of(quota_properties(entity, {}))) == entity


def test_a_quota_that_was_read_for_an_import_limits_the_same_entity() -> None:
    entity = (("client-id", None), ("user", "a"))
    found = CLIENT_QUOTA.inputs_read(quota_properties(entity, {"producer_byte_rate": 1.0}), None)
    assert quota_entity_of(found) == entity


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


def stack(
    homes: Mapping[AccessKey, tuple[str, ...]], allow: Mapping[str, frozenset[Allowance]], *undeclared: str
) -> DeployedStack:
    """Return a state whose last deploy declared each of ``homes`` there; ``undeclared`` are URNs."""
    access = deployed_access(
        homes=homes,
        allow={home: words for home, words in allow.items() if "/" in home},
        undeclared=tuple(UndeclaredResource(urn, READ, "") for urn in undeclared),
    )
    return DeployedStack(access=access, allow={home: words for home, words in allow.items() if "/" not in home})


def urn_of(kind: str, key: AccessKey) -> str:
    return f"urn:pulumi:dev::shop::{ACCESS_SET_TYPE}${kind}::{resource_name(key)}"


USER = ("a", "SCRAM-SHA-512")
LIMITED = (("user", "a"),)
KINDS: Mapping[str, AccessKey] = {
    ACL_TYPE: READ,
    SCRAM_TYPE: USER,
    QUOTA_TYPE: (("user", "a"),),
    CLIENT_QUOTA_TYPE: (("client-id", "c"), ("user", "a")),
    GROUP_CONFIG_TYPE: "billing",
}
REVOKE, OPEN, REMOVE = AllowedChange.REVOKE_ACCESS, AllowedChange.OPEN_ACCESS, AllowedChange.REMOVE_CREDENTIAL
THROTTLE = AllowedChange.THROTTLE_CLIENTS


@pytest.mark.parametrize("judged", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_access_that_no_deploy_has_declared_is_never_removed(kind: str, judged: bool) -> None:
    key, every = KINDS[kind], {"access/a.yaml": frozenset(map(Allowance, AllowedChange))}
    urn = urn_of(kind, key)
    known = {key: ("access/a.yaml",)}
    check_access(stack(known, every), urn, key, kind, judged=judged)
    elsewhere = [f"urn:pulumi:dev::shop::{kind}::{resource_name(key)}", urn_of(kind, "another name")]
    cases = [*((stack(known, every), other) for other in elsewhere), (stack({}, every), urn)]
    for state, other in [*cases, (stack(known, every, urn), urn)]:
        with pytest.raises(Refusal, match=r"no deploy has declared .* `pulumi state delete --force '"):
            check_access(state, other, key, kind, judged=judged)


@pytest.mark.parametrize("kind", KINDS)
def test_a_taint_does_not_hide_that_a_resource_was_edited(kind: str) -> None:
    key, every = KINDS[kind], {"access/a.yaml": frozenset(map(Allowance, AllowedChange))}
    urn = urn_of(kind, key)
    state = stack({key: ("access/a.yaml",)}, every)

    def with_resource(*, as_declared: bool) -> DeployedStack:
        tainted = UndeclaredResource(urn, key, "", registered=True, tainted=True, as_declared=as_declared)
        return replace(state, access=replace(state.access, undeclared=(tainted,)))

    check_access(with_resource(as_declared=True), urn, key, kind, judged=True)
    with pytest.raises(Refusal, match="no deploy has declared"):
        check_access(with_resource(as_declared=False), urn, key, kind, judged=True)


@pytest.mark.parametrize(
    ("key", "homes", "allow", "refused"),
    [
        (READ, ("t",), {}, "revoke-access"),
        (READ, ("t",), {"t": allowing(REVOKE)}, None),
        (READ, ("t",), {"t": allowing(REVOKE, days=-1)}, "revoke-access"),
        (READ, ("t",), {"t": allowing(OPEN), "access/a.yaml": allowing(REVOKE)}, "revoke-access"),
        (READ, ("t",), {"u": allowing(REVOKE), "access/a.yaml": allowing(REVOKE)}, "revoke-access"),
        (READ, ("access/a.yaml", "t"), {"t": allowing(REVOKE)}, "revoke-access"),
        (READ, ("access/a.yaml", "t"), {"access/a.yaml": allowing(REVOKE)}, "revoke-access"),
        (READ, ("access/a.yaml", "t"), {"access/a.yaml": allowing(REVOKE), "t": allowing(REVOKE)}, None),
        (PREFIXED, ("access/a.yaml",), {"access/b.yaml": allowing(OPEN)}, "open-access"),
        (PREFIXED, ("access/a.yaml",), {"access/a.yaml": allowing(OPEN)}, None),
        (USER, ("access/a.yaml",), {"access/a.yaml": allowing(REVOKE)}, "remove-credential"),
        (USER, ("access/a.yaml",), {"access/a.yaml": allowing(REMOVE)}, None),
        (LIMITED, ("access/a.yaml",), {"access/a.yaml": allowing(REMOVE)}, "throttle-clients"),
        (LIMITED, ("access/a.yaml",), {"access/a.yaml": allowing(THROTTLE)}, None),
    ],
)
def test_a_command_without_a_program_removes_only_access_that_each_declaring_file_allows(
    key: AccessKey, homes: tuple[str, ...], allow: Mapping[str, frozenset[Allowance]], refused: str | None
) -> None:
    kind = SCRAM_TYPE if key == USER else QUOTA_TYPE if key == LIMITED else ACL_TYPE
    state, urn = stack({key: homes}, allow), urn_of(kind, key)
    check_access(state, urn, key, kind, judged=True)
    if refused is None:
        check_access(state, urn, key, kind, judged=False)
        return
    with pytest.raises(Refusal) as refusal:
        check_access(state, urn, key, kind, judged=False)
    lacking = [home for home in homes if refused not in [each.change for each in allow.get(home, ())]]
    files = " and ".join(home if "/" in home else f"the YAML of {home}" for home in lacking or homes)
    assert f"write `allow: [{{change: {refused}, until: DATE}}]` into {files} and deploy it first" in str(refusal.value)


def test_a_topic_that_no_deploy_has_declared_is_never_deleted() -> None:
    urn = f"urn:pulumi:dev::shop::{TOPIC_PATH}::t"
    state = DeployedStack({"t": DeployedTopic("t", 1, 1, {})})
    with pytest.raises(Refusal, match="no deploy has declared this topic"):
        DeletionGuard().check_delete(urn, "t", state)
    declared = Topic("t", 1, 1, allow=allowing(AllowedChange.DELETE))
    DeletionGuard().check_delete(urn, "t", DeployedStack({"t": DeployedTopic("t", 1, 1, {}, declared)}))


def test_a_protected_credential_is_not_written() -> None:
    credentials = Credentials(cast("AdminSession", None), EngineCalls(), lambda intent, names: None)
    credentials.protect(["a|SCRAM-SHA-512"])
    inputs = {"username": "a", "scramMechanism": "SCRAM-SHA-512", "passwordWo": "p"}
    for write in (credentials.create(inputs), credentials.update("a|SCRAM-SHA-512", inputs, inputs)):
        with pytest.raises(Refusal, match="no deploy of this stack has written a"):
            asyncio.run(write)
