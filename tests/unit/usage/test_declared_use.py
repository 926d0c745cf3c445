"""Test which uses declared access explains, and which principals may be behind a use."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.access_parts import declared_access
from topicwarden.kafka_facts.access import roles
from topicwarden.kafka_facts.access.authorizer import Authorizer
from topicwarden.model.access import (
    ANY_PRINCIPAL,
    Acl,
    AuthorizerSettings,
    Grant,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)
from topicwarden.model.usage import Use, UseAction, UserKind
from topicwarden.usage.declared_use import AclUse
from topicwarden.usage.use_context import UseContext

TOPIC, GROUP, ID = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
PREFIXED = PatternType.PREFIXED


def acl(
    principal: str,
    operation: Operation,
    kind: ResourceType,
    name: str,
    pattern: PatternType = PatternType.LITERAL,
    *,
    host: str = "*",
    deny: bool = False,
) -> Acl:
    permission = PermissionType.DENY if deny else PermissionType.ALLOW
    return Acl(f"User:{principal}", host, operation, permission, kind, name, pattern)


def declared(*acls: Acl) -> AclUse:
    return AclUse(declared_access(acls=dict.fromkeys(acls, ())).acls)


def reading(group: str) -> Use:
    return Use(UseAction.READ, UserKind.GROUP, group, 0)


def writing(kind: UserKind, name: str) -> Use:
    return Use(UseAction.WRITE, kind, name, 0)


READ, WRITE, ALL, DESCRIBE = Operation.READ, Operation.WRITE, Operation.ALL, Operation.DESCRIBE
CONSUMES = (acl("a", READ, TOPIC, "t"), acl("a", READ, GROUP, "g"))
PRODUCES = (acl("p", WRITE, TOPIC, "t"), acl("p", WRITE, ID, "x-", PREFIXED))


@pytest.mark.parametrize(
    ("acls", "use", "candidates"),
    [
        (CONSUMES, reading("g"), {"User:a"}),
        (CONSUMES, reading("other"), set()),
        (CONSUMES[:1], reading("g"), set()),
        (CONSUMES[1:], reading("g"), set()),
        ((CONSUMES[0], acl("b", READ, GROUP, "g")), reading("g"), set()),  # no principal may do both
        ((CONSUMES[0], acl("*", READ, GROUP, "*")), reading("g"), {"User:a"}),
        ((acl("*", READ, TOPIC, "*"), CONSUMES[1]), reading("g"), {"User:a"}),
        ((acl("*", ALL, TOPIC, "*"), acl("*", ALL, GROUP, "*")), reading("g"), {ANY_PRINCIPAL}),
        ((*CONSUMES, acl("a", READ, TOPIC, "t", deny=True)), reading("g"), set()),
        ((*CONSUMES, acl("*", READ, GROUP, "g", deny=True)), reading("g"), set()),
        ((*CONSUMES, acl("a", READ, TOPIC, "t", deny=True, host="10.0.0.9")), reading("g"), {"User:a"}),
        ((acl("a", READ, TOPIC, "t", host="10.0.0.7"), CONSUMES[1]), reading("g"), {"User:a"}),
        ((acl("a", DESCRIBE, TOPIC, "t"), CONSUMES[1]), reading("g"), set()),
        (PRODUCES, writing(UserKind.TRANSACTIONAL_ID, "x-1"), {"User:p"}),
        (PRODUCES, writing(UserKind.TRANSACTIONAL_ID, "y"), set()),
        (PRODUCES, writing(UserKind.PRODUCER_ID, "7"), {"User:p"}),
        (CONSUMES, writing(UserKind.PRODUCER_ID, "7"), set()),
        (PRODUCES, writing(UserKind.PRINCIPAL, "User:p"), {"User:p"}),
        (PRODUCES, writing(UserKind.PRINCIPAL, "User:q"), set()),
        ((acl("*", WRITE, TOPIC, "t"),), writing(UserKind.PRINCIPAL, "User:q"), {"User:q"}),
    ],
)
def test_a_use_is_explained_by_a_principal_that_may_do_all_of_it(
    acls: tuple[Acl, ...], use: Use, candidates: set[str]
) -> None:
    found = declared(*acls)
    assert found.candidates(use, "t") == candidates
    assert bool(found.candidates(use, "t")) is bool(candidates)
    assert not found.candidates(use, "other") or ANY_PRINCIPAL in candidates or acls[0].principal == ANY_PRINCIPAL


acls = st.builds(
    Acl,
    st.sampled_from(("User:a", "User:b", ANY_PRINCIPAL, "User:admin")),
    st.sampled_from(("*", "10.0.0.7")),
    st.sampled_from((READ, WRITE, ALL, DESCRIBE)),
    st.sampled_from((PermissionType.ALLOW, PermissionType.ALLOW, PermissionType.DENY)),
    st.sampled_from((TOPIC, GROUP, ID)),
    st.sampled_from(("t", "*", "g")),
    st.sampled_from(PatternType),
)
settings = st.builds(
    AuthorizerSettings, st.sampled_from(("", "Standard")), st.sampled_from((frozenset(), {"User:admin"})), st.booleans()
)


@given(st.lists(acls, max_size=6), settings, st.sampled_from(("t", "tg", "u")), st.sampled_from(("g", "go", "h")))
def test_candidates_are_the_principals_that_the_authorizer_allows_from_any_address(
    found: list[Acl], settings: AuthorizerSettings, topic: str, group: str
) -> None:
    authorizer = Authorizer(found, settings)
    parts = (Resource(TOPIC, topic), Resource(GROUP, group))
    named = {acl.principal for acl in found if any(acl.matches(part) for part in parts)} | {ANY_PRINCIPAL}
    expected = {
        principal
        for principal in named - authorizer.super_users
        if all(
            any(authorizer.decide(principal, READ, part, host).allowed for host in ("*", "10.0.0.7")) for part in parts
        )
    }
    assert AclUse(found, settings).candidates(reading(group), topic) == expected


def test_roles_of_topics_explain_their_own_use() -> None:
    acls = {
        *roles.consume("t", Grant("User:a", name="team-", prefix=True)),
        *roles.produce("t", Grant("User:p", name="x")),
    }
    found = declared(*acls)
    assert found.candidates(reading("team-billing"), "t")
    assert not found.candidates(reading("billing"), "t")
    assert found.candidates(writing(UserKind.TRANSACTIONAL_ID, "x"), "t")


def test_everyone_may_use_a_resource_without_acls_if_the_cluster_is_open() -> None:
    live = AclUse(CONSUMES, AuthorizerSettings("StandardAuthorizer", frozenset({"User:admin"}), open_without_acl=True))
    assert live.candidates(reading("g"), "other") == {"User:a"}
    assert live.candidates(reading("other"), "other") == {ANY_PRINCIPAL}
    assert live.candidates(reading("other"), "t") == {"User:a"}


@pytest.mark.parametrize(
    ("declaration", "names"),
    [
        (acl("a", READ, TOPIC, "t"), True),
        (acl("a", ALL, TOPIC, "t", PREFIXED), True),
        (acl("a", WRITE, TOPIC, "*"), False),
        (acl("a", DESCRIBE, TOPIC, "t"), False),
        (acl("a", READ, TOPIC, "t", deny=True), False),
        (acl("a", READ, GROUP, "t"), False),
    ],
)
def test_a_topic_has_declared_access_if_an_acl_is_about_it_and_not_about_every_topic(
    declaration: Acl, names: bool
) -> None:
    context = UseContext(declared_access(acls={declaration: ()}))
    assert bool(context.declaring("t")) is names


def test_the_digest_changes_with_each_acl_on_which_the_explanation_depends() -> None:
    other = (acl("b", READ, TOPIC, "u"), acl("b", READ, GROUP, "h"))
    before = declared(*CONSUMES).digest("t")
    assert declared(*CONSUMES, *other).digest("t") == before
    for more in (
        acl("c", READ, TOPIC, "t"),
        acl("a", READ, GROUP, "h"),
        acl("a", READ, TOPIC, "t", deny=True),
        acl("*", READ, GROUP, "h"),
        acl("a", WRITE, ID, "x"),
    ):
        assert declared(*CONSUMES, more).digest("t") != before, more
    assert declared(*CONSUMES[:1]).digest("t") != before


def test_each_set_of_patterns_is_decided_once() -> None:
    acls = [
        each
        for number in range(500)
        for each in (acl(f"u{number}", READ, TOPIC, f"t{number}."), acl(f"u{number}", READ, GROUP, f"g{number}"))
    ]
    found = declared(*acls, acl("all", READ, TOPIC, "t", PREFIXED), acl("all", READ, GROUP, "*"))
    for number in range(500):
        assert found.candidates(reading(f"g{number}"), f"t{number}.") == {f"User:u{number}", "User:all"}
        assert found.candidates(reading(f"g{number}"), "txt") == {"User:all"}
