"""Test the access of a stack: what the program derives before it registers anything, and what a state says of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.support import access_parts
from tests.support.access_names import (
    ACL_TYPE,
    CLIENT_QUOTA_TYPE,
    GROUP_CONFIG_TYPE,
    QUOTA_TYPE,
    SCRAM_TYPE,
    acl_name,
    acl_of,
    acl_properties,
    group_name,
    quota_entity_of,
    quota_name,
    quota_properties,
    quota_type,
    user_name,
    user_properties,
)
from tests.support.access_parts import declared_access, live_access
from topicwarden.deploy.access_program import access_before, missing_line, secrets
from topicwarden.deploy.access_resources import AccessResources
from topicwarden.deploy.access_state import ACCESS_RESOURCES, CREDENTIALS_TYPE, deployed_access, recorded_access
from topicwarden.deploy.lean_registration import Registered
from topicwarden.kafka.connect.stack_connection import NO_PULUMI
from topicwarden.kafka.read.cluster import Cluster
from topicwarden.kinds.access_resource import ACCESS_SET_TYPE, AccessBefore, KindWrites
from topicwarden.kinds.acl.resource import CREATE_TOGETHER, last_acls
from topicwarden.kinds.acl.resource import RESOURCE as ACLS
from topicwarden.kinds.announced_writes import Intent, UnfinishedWrites
from topicwarden.kinds.quota.levels import QuotaEntity
from topicwarden.kinds.scram_user.change import USERS as USERS_PART
from topicwarden.kinds.scram_user.change import own_passwords
from topicwarden.kinds.scram_user.resource import PROTECT_CREDENTIALS
from topicwarden.kinds.scram_user.resource import RESOURCE as USERS
from topicwarden.model.access import (
    AccessSource,
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    DeployedAccess,
    LiveAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    ScramUser,
    SecretReference,
)
from topicwarden.model.planned_change import Action, PlanSection
from topicwarden.model.problem import Location
from topicwarden.model.topic import Allowance, AllowedChange
from topicwarden.plan.access_change import ACCESS_PARTS, access_change

READ = Acl("User:CN=a|b,OU=c", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "orders")
WRITE = Acl(
    "User:a", "::1", Operation.WRITE, PermissionType.DENY, ResourceType.TRANSACTIONAL_ID, "o-", PatternType.PREFIXED
)
HERE = Location("access/a.yaml")


def resource(kind: str, name: str, **outputs: object) -> Mapping[str, Any]:
    urn = f"urn:pulumi:dev::shop::{ACCESS_SET_TYPE}${kind}::{name}"
    return {"type": kind, "urn": urn, "inputs": outputs, "outputs": outputs}


def test_properties_have_all_of_an_acl() -> None:
    for parts in product(
        ("User:a", "User:*"), ("*", "::1"), Operation, PermissionType, ResourceType, ("t|u",), PatternType
    ):
        acl = Acl(*parts)
        assert acl_of(acl_properties(acl)) == acl
    assert acl_properties(WRITE)["aclResourceType"] == "TransactionalID"  # the word of the official provider


def test_properties_have_all_of_a_quota() -> None:
    for entity in (
        (("user", "a"),),
        (("user", None),),
        (("client-id", "c"), ("user", None)),
        (("client-id", None), ("user", "entity-default")),
    ):
        assert quota_entity_of(quota_properties(entity, {"producer_byte_rate": 1.5})) == entity


def test_names_differ_where_the_parts_do() -> None:
    moved = Acl("User:CN=a", "*", Operation.READ, PermissionType.ALLOW, ResourceType.TOPIC, "b,OU=c|orders")
    assert len({acl_name(READ), acl_name(WRITE), acl_name(moved)}) == 3
    entities = ((("user", "a"),), (("user", None),), (("user", "None"),), (("client-id", "a"), ("user", None)))
    assert len({quota_name(entity) for entity in entities}) == 4


def test_the_state_gives_the_access_that_was_registered() -> None:
    user = ScramUser("a", "SCRAM-SHA-512", 8192, SecretReference("orders:password", "3"))
    quotas: dict[QuotaEntity, dict[str, float]] = {
        (("user", "a"),): {"producer_byte_rate": 1.5},
        (("client-id", "c"), ("user", None)): {"x": 2.0},
    }
    declared = declared_access(
        acls={READ: (AccessSource(HERE, "consume of orders", "orders"),), WRITE: (AccessSource(HERE, "an ACL"),)},
        parts={
            "quotas": {entity: (rates, HERE) for entity, rates in quotas.items()},
            "users": {("a", "SCRAM-SHA-512"): (user, HERE)},
            "group_configs": {"billing": ({"consumer.session.timeout.ms": "60000"}, HERE)},
        },
        allow={"access/a.yaml": frozenset({Allowance(AllowedChange.REVOKE_ACCESS, date(2030, 1, 2))})},
    )
    state: list[Mapping[str, Any]] = [
        resource(ACCESS_SET_TYPE, "dev", **recorded_access(declared, [("a", "SCRAM-SHA-512")])),
        *(resource(ACL_TYPE, acl_name(acl), **acl_properties(acl)) for acl in declared.acls),
        *(
            resource(quota_type(entity), quota_name(entity), **quota_properties(entity, rates))
            for entity, rates in quotas.items()
        ),
        resource(SCRAM_TYPE, user_name("a", "SCRAM-SHA-512"), **user_properties(user)),
        resource(
            GROUP_CONFIG_TYPE, group_name("billing"), group="billing", config={"consumer.session.timeout.ms": "60000"}
        ),
    ]
    assert [quota_type(entity) for entity in quotas] == [QUOTA_TYPE, CLIENT_QUOTA_TYPE]
    assert deployed_access(state) == access_parts.deployed_access(
        acls=frozenset({READ, WRITE}),
        parts={
            "quotas": quotas,
            "users": {("a", "SCRAM-SHA-512"): user},
            "group_configs": {"billing": {"consumer.session.timeout.ms": "60000"}},
        },
        homes={READ: ("orders",), **dict.fromkeys([WRITE, *quotas, ("a", "SCRAM-SHA-512"), "billing"], (HERE.file,))},
        allow=declared.allow,
        passwords=frozenset({("a", "SCRAM-SHA-512")}),
        iterations={("a", "SCRAM-SHA-512"): 8192},
    )


@pytest.mark.parametrize(("recorded", "iterations"), [(None, 5000), ({user_name("a", "S"): 4096.0}, 4096), ("", 5000)])
def test_a_refresh_does_not_change_with_how_many_iterations_a_password_was_written(
    recorded: object, iterations: int
) -> None:
    """The state has 5,000, which a refresh has read, or which an earlier version has written."""
    user = ScramUser("a", "S", 5000, SecretReference("secret", "1"))
    declared, key = declared_access(parts={"users": {("a", "S"): (user, HERE)}}), ("a", "S")
    component = resource(CREDENTIALS_TYPE, "dev", iterations=recorded)
    state = [
        resource(ACCESS_SET_TYPE, "dev", **recorded_access(declared, [key])),
        resource(SCRAM_TYPE, user_name(*key), **user_properties(user)),
        *([] if recorded is None else [component]),
    ]
    deployed = deployed_access(state)
    assert (deployed.passwords, deployed.iterations) == (frozenset({key}), {key: iterations})


DECLARED = declared_access(
    {READ: (AccessSource(HERE, "an ACL"),)}, {"quotas": {(("user", "a"),): ({"producer_byte_rate": 1.0}, HERE)}}
)
RECORD = resource(ACCESS_SET_TYPE, "dev", **recorded_access(DECLARED))
LIMIT = {"entityName": "a", "entityType": "user"}


@pytest.mark.parametrize(
    ("resources", "undeclared"),
    [
        ([RECORD, resource(ACL_TYPE, acl_name(READ), **acl_properties(READ))], []),
        ([resource(ACL_TYPE, acl_name(READ), **acl_properties(READ))], [(READ, True)]),
        ([RECORD, resource(ACL_TYPE, acl_name(WRITE), **acl_properties(WRITE))], [(WRITE, True)]),
        ([RECORD, resource(ACL_TYPE, "own", **acl_properties(READ))], [(READ, False)]),
        ([RECORD, resource(ACL_TYPE, acl_name(READ), **acl_properties(WRITE))], [(WRITE, False)]),
        ([RECORD, resource(ACL_TYPE, "own", aclHost="*")], [("", False)]),
        (
            [RECORD, resource(QUOTA_TYPE, quota_name((("user", "a"),)), **LIMIT, config={"consumer_byte_rate": "1"})],
            [((("user", "a"),), True)],
        ),
        ([RECORD, {**resource(ACL_TYPE, acl_name(READ), **acl_properties(READ)), "taint": True}], [(READ, True)]),
    ],
)
def test_what_no_deploy_has_declared_as_it_is_in_the_state_is_undeclared(
    resources: list[Mapping[str, Any]], undeclared: list[tuple[Any, bool]]
) -> None:
    found = deployed_access(resources).undeclared
    assert [("" if each.key == each.urn else each.key, each.registered) for each in found] == undeclared


def test_the_record_of_what_departs_stays_until_it_is_gone() -> None:
    state = [RECORD, resource(ACL_TYPE, acl_name(READ), **acl_properties(READ))]
    departing = deployed_access([*state, resource(QUOTA_TYPE, quota_name((("user", "a"),)), **LIMIT, config={})])
    record = recorded_access(DeclaredAccess(), departing=departing)
    again = deployed_access([resource(ACCESS_SET_TYPE, "dev", **record), *state[1:]])
    assert (again.homes, again.undeclared) == ({READ: (HERE.file,)}, ())


def acl(name: str, prefixed: bool = False, denied: bool = False, kind: ResourceType = ResourceType.TOPIC) -> Acl:
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    permission = PermissionType.DENY if denied else PermissionType.ALLOW
    return Acl("User:a", "*", Operation.READ, permission, kind, name, pattern)


def before(*acls: Acl, open_without_acl: bool | None = True, live: LiveAccess | None = None) -> AccessBefore:
    settings = {1: AuthorizerSettings("A", frozenset(), False), 2: AuthorizerSettings("A", None, open_without_acl)}
    live = live or live_access(acls=frozenset(), settings=settings)
    return AccessBefore(declared_access(acls=dict.fromkeys(acls, ())), DeployedAccess(), live)


def first_acls(access: AccessBefore) -> list[Acl]:
    return [acl_of(properties) for properties in ACLS.writes(access).prepare[CREATE_TOGETHER]]


REPLACE = {HERE.file: frozenset({Allowance(AllowedChange.REPLACE_CREDENTIAL)})}


@pytest.mark.parametrize(
    ("deployed", "live", "allowed", "written", "protected"),
    [
        ("no", False, False, True, False),  # created
        ("no", True, False, False, True),  # adopted, or refused
        ("adopted", True, False, False, True),
        ("adopted", True, True, False, False),
        ("other", True, True, True, False),
        ("other", True, False, False, True),
        ("written", True, False, True, False),
        ("written by hand", True, False, False, True),  # somebody has written other iterations since
        ("written by hand", True, True, False, False),
        ("adopted", False, False, False, False),  # gone, and nothing creates it again
        ("adopted refreshed", False, False, True, False),  # gone, and the refresh tells the engine
        ("adopted refreshed", True, False, False, True),
        ("other", False, False, True, False),  # gone, and the update writes it
    ],
)
def test_only_a_password_that_a_deploy_has_written_is_ours(
    deployed: str, live: bool, allowed: bool, written: bool, protected: bool
) -> None:
    other = ScramUser("a", "SCRAM-SHA-512", 8192, SecretReference("secret", "1"))
    access = AccessBefore(
        declared_access(parts={"users": {KEY: (USER, HERE)}}, allow=REPLACE if allowed else {}),
        access_parts.deployed_access(
            parts={} if deployed == "no" else {"users": {KEY: other if deployed == "other" else USER}},
            passwords=frozenset({KEY} if deployed.startswith("written") else ()),
            iterations={KEY: 8192} if deployed == "written by hand" else {},
        ),
        live_access(parts={"users": {KEY: other if deployed == "other" else USER} if live else {}}),
        refreshed=deployed.endswith(" refreshed"),
    )
    writes = USERS.writes(access)
    assert (KEY in writes.written, writes.prepare) == (
        written,
        {PROTECT_CREDENTIALS: ["|".join(KEY)] if protected else []},
    )


@pytest.mark.parametrize(("open_without_acl", "number"), [(True, 2), (None, 2), (False, 0)])
def test_new_acls_come_together_where_one_broker_may_be_open(open_without_acl: bool | None, number: int) -> None:
    assert len(first_acls(before(acl("a"), acl("b"), open_without_acl=open_without_acl))) == number


def test_existing_acls_are_not_new() -> None:
    live = live_access(acls=frozenset({acl("a")}))
    assert first_acls(before(acl("a"), acl("b"), live=live)) == [acl("b")]


@pytest.mark.parametrize(
    ("acls", "last"),
    [
        ([acl("t.a"), acl("t.", prefixed=True)], acl("t.a")),
        ([acl("t.", prefixed=True), acl("*")], acl("t.", prefixed=True)),
        ([acl("*")], acl("*")),
        ([acl("t.a", denied=True)], None),
        ([acl("t.a", kind=ResourceType.GROUP), acl("u.", prefixed=True)], None),
    ],
)
def test_a_topic_is_deleted_before_one_acl_that_matches_it(acls: list[Acl], last: Acl | None) -> None:
    assert last_acls(before(*acls), ["t.a"]).get("t.a") == last
    assert last_acls(before(*acls, open_without_acl=False), ["t.a"]) == {}


USER = ScramUser("a", "SCRAM-SHA-512", 4096, SecretReference("secret", "1"))
KEY = (USER.name, USER.mechanism)


@pytest.mark.parametrize(
    ("deployed", "live", "intents", "adopted"),
    [
        (False, ScramUser("a", "SCRAM-SHA-512", 4096), {}, True),
        (True, ScramUser("a", "SCRAM-SHA-512", 4096), {}, False),
        (False, ScramUser("a", "SCRAM-SHA-512", 8192), {}, False),
        (False, None, {}, False),
        # A killed deploy may have written another password.
        (False, ScramUser("a", "SCRAM-SHA-512", 4096), {user_name(*KEY): Intent.CREATE}, False),
    ],
)
def test_only_a_user_of_somebody_else_that_is_as_declared_is_adopted(
    deployed: bool, live: ScramUser | None, intents: dict[str, Intent], adopted: bool
) -> None:
    access = AccessBefore(
        declared_access(parts={"users": {KEY: (USER, HERE)}}),
        access_parts.deployed_access(parts={"users": {KEY: USER}} if deployed else {}),
        live_access(parts={"users": {KEY: live} if live else {}}),
        UnfinishedWrites(PlanSection.ACCESS, intents),
    )
    assert USERS.writes(access).import_ids == ({KEY: "a|SCRAM-SHA-512||secret@1"} if adopted else {})


@pytest.mark.parametrize("refreshed", [False, True])
@pytest.mark.parametrize(
    ("intents", "own"),
    [
        ((), False),
        ((user_name(*KEY),), False),
        ((f"{user_name(*KEY)}@8192",), False),
        ((f"{user_name(*KEY)}@5000",), True),
    ],
)
def test_other_iterations_than_a_deploy_has_written_or_begun_to_write_are_of_somebody_else(
    intents: tuple[str, ...], own: bool, refreshed: bool
) -> None:
    """A deploy wrote 4,096 iterations, one that was killed announced ``intents``, and the cluster has 5,000."""
    live = live_access(
        parts={**{part.name: {} for part in ACCESS_PARTS}, "users": {KEY: ScramUser(*KEY, 5000)}},
    )
    access = access_before(
        cast("Cluster", SimpleNamespace(access=lambda _: live)),
        dict.fromkeys(intents, Intent.CREATE),
        declared_access(parts={"users": {KEY: (USER, HERE)}}),
        access_parts.deployed_access(
            parts={"users": {KEY: USER}}, passwords=frozenset({KEY}), iterations={KEY: USER.iterations}
        ),
        refreshed=refreshed,
    )
    assert (KEY in own_passwords(access.deployed, live)) is own
    assert [*access.unfinished.intents] == [*intents] * own
    change = access_change(access.declared, access.deployed, live)
    assert change.of(USERS_PART) == {KEY: Action.UPDATE if refreshed else Action.DRIFT}
    writes = USERS.writes(access)
    assert (writes.written, writes.replaced) == (({KEY: 4096}, {KEY: 5000}) if own else ({}, {}))
    assert writes.prepare[PROTECT_CREDENTIALS] == ([] if own else ["|".join(KEY)])


@pytest.mark.parametrize(
    ("answer", "before", "recorded"),
    [
        (Registered(user_properties(USER), failed=False), 5000, 4096),
        (Registered(user_properties(replace(USER, iterations=5000)), failed=False), 5000, 5000),  # no target
        (Registered({}, failed=True), 5000, 5000),
        (Registered({}, failed=True), None, None),
    ],
)
def test_iterations_that_were_not_written_are_not_recorded(
    answer: Registered, before: int | None, recorded: int | None
) -> None:
    async def answers() -> dict[str, Registered]:
        return {user_name(*KEY): answer}

    async def iterations() -> dict[str, int]:
        resources = object.__new__(AccessResources)
        resources._access = declared_access(parts={"users": {KEY: (USER, HERE)}})
        resources._writes = {
            each.part: KindWrites(written={KEY: 4096}, replaced={KEY: before}) if each is USERS else KindWrites()
            for each in ACCESS_RESOURCES
        }
        resources._others_done = asyncio.ensure_future(answers())
        return await resources._iterations()

    assert asyncio.run(iterations()) == ({} if recorded is None else {user_name(*KEY): recorded})


@pytest.mark.parametrize("on_path", [False, True])
def test_a_secret_that_is_missing_is_named_once(on_path: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message for both mechanisms of a user; and ``pulumi``, which sets the secret, may not be on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    if on_path:
        (tmp_path / "pulumi").touch(0o755)
    users = {(name, each): ScramUser(name, each, 4096, USER.password) for name in "ab" for each in ("S256", "S512")}
    found, problems = secrets(declared_access(parts={"users": {key: (users[key], HERE) for key in users}}), "dev")
    messages = [
        f"the password of user {name} is the secret secret, which stack dev does not have: `pulumi config set --secret "
        "secret --stack dev` sets it"
        for name in "ab"
    ]
    assert (found, [each.message for each in problems]) == (
        {},
        [messages[0], messages[1] + f"; {NO_PULUMI}" * (not on_path)],
    )


def test_declared_and_deployed_access_that_is_gone_is_named() -> None:
    declared = declared_access(acls={acl("a"): (), acl("b"): ()}, parts={"users": {KEY: (USER, HERE)}})
    deployed = access_parts.deployed_access(acls=frozenset({acl("a")}), parts={"users": {KEY: USER}})
    gone = "Allow Read on Topic a for User:a, SCRAM-SHA-512 credential of user a: declared and deployed, but not on the"
    live = live_access(acls=frozenset(), parts={"users": {}})
    line = missing_line(AccessBefore(declared, deployed, live), "dev", reverts=False)
    assert line.startswith(gone) and line.endswith("; `topicwarden up --refresh --stack dev` creates it again")
    line = missing_line(AccessBefore(declared, deployed, live), "dev", reverts=True)
    assert line.startswith(gone) and line.endswith("; this deploy creates it again")
    assert missing_line(AccessBefore(declared, deployed, LiveAccess()), "dev", reverts=False) == ""
