"""Test the findings on access, on plain values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.access_parts import declared_access, live_access
from tests.support.subjects import NOW
from topicwarden.audit.access_check import AuditedAccess
from topicwarden.audit.access_checks import judge_access
from topicwarden.kinds.acl.checks.acl_without_effect import only_scram
from topicwarden.model.access import (
    AccessSource,
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    LiveAccess,
    Operation,
    PatternType,
    PermissionType,
    ResourceType,
    ScramUser,
)
from topicwarden.model.finding import Finding
from topicwarden.model.problem import Location
from topicwarden.model.usage import DAY_MS, GroupUse, Interval, TopicUse
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.usage.use_history import RememberedUse

AT = Location("topics/orders.yaml", 5, 7)
USER_AT = Location("access/users.yaml", 2, 3)
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SCOPE = StackScope(("orders*",), ("User:o*",))


def acl(
    principal: str = "User:orders",
    name: str = "orders",
    kind: ResourceType = ResourceType.TOPIC,
    operation: Operation = Operation.READ,
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    return Acl(principal, "*", operation, PermissionType.ALLOW, kind, name, pattern)


READ, GROUP = acl(), acl(name="billing", kind=ResourceType.GROUP)
SOURCE = AccessSource(AT, "consume of orders", "orders")
DECLARED = declared_access(acls={READ: (SOURCE,), GROUP: (SOURCE,)})
LIVE = live_access(
    acls=frozenset({READ, GROUP}),
    parts={"quotas": {}, "users": {}, "group_configs": {}},
    settings={1: AuthorizerSettings(STANDARD, frozenset(), open_without_acl=False)},
)


def found(declared: DeclaredAccess, live: LiveAccess, scope: StackScope = SCOPE, **more: object) -> list[str]:
    access = replace(AuditedAccess(declared, live, scope, frozenset({"orders"})), **more)  # type: ignore[arg-type]
    return [
        f"{each.check} {each.topic} {each.verdict}: {each.message}" + (f" @{each.location}" if each.location else "")
        for each in judge_access(access, lambda _: True)
        if each.message
    ]


def test_access_as_declared_passes() -> None:
    assert found(DECLARED, LIVE) == []


def test_nothing_is_judged_that_the_stack_does_not_declare() -> None:
    assert list(judge_access(AuditedAccess(DeclaredAccess(), LIVE), lambda _: True)) == []


def test_missing_acls_fail_at_the_line_that_declares_them() -> None:
    assert found(DECLARED, replace(LIVE, parts={**LIVE.parts, "acls": {}})) == [
        "acl-drift orders fail: consume of orders: declared, but not on the cluster: Allow Read on Group billing for "
        "User:orders; Allow Read on Topic orders for User:orders @topics/orders.yaml:5:7"
    ]


@pytest.mark.parametrize(
    ("scope", "extra", "expected"),
    [
        (SCOPE, acl("User:other"), ["acl-drift orders fail"]),
        (SCOPE, acl("User:mallory"), ["acl-drift orders pass"]),
        (SCOPE, acl("User:other", "elsewhere"), ["acl-drift (cluster) pass"]),
        (SCOPE, acl("User:other", "orders", pattern=PatternType.PREFIXED), ["acl-drift (cluster) fail"]),
        (StackScope(), acl("User:mallory"), ["acl-drift orders suspect"]),
        (StackScope(), acl("User:mallory", "elsewhere"), ["acl-drift (cluster) pass"]),
    ],
)
def test_an_undeclared_acl_fails_only_in_the_scope_of_principals(
    scope: StackScope, extra: Acl, expected: list[str]
) -> None:
    findings = found(
        DECLARED, replace(LIVE, parts={**LIVE.parts, "acls": dict.fromkeys((READ, GROUP, extra), True)}), scope
    )
    assert [each.partition(":")[0] for each in findings] == expected


def test_acls_without_authorizer_fail_and_are_not_compared() -> None:
    live = replace(LIVE, parts={}, security_disabled=True, settings={1: AuthorizerSettings("")})
    assert found(DECLARED, live) == [
        "acl-without-effect (cluster) fail: 2 declared ACLs without effect: the brokers have no authorizer, so "
        "everyone may do everything @topics/orders.yaml:5:7"
    ]


def test_what_is_denied_is_undecidable() -> None:
    reason = "this user lacks Describe on the Cluster resource"
    parts = ("acls", "quotas", "users", "group_configs", "authorizer")
    declared = declared_access(
        DECLARED.acls,
        {
            "quotas": {(("user", "a"),): ({"producer_byte_rate": 1.0}, AT)},
            "users": {("a", "SCRAM-SHA-512"): (ScramUser("a", "SCRAM-SHA-512", 4096), USER_AT)},
            "group_configs": {"billing": ({"consumer.session.timeout.ms": "60000"}, AT)},
        },
    )
    findings = found(declared, live_access(missing=dict.fromkeys(parts, reason)))
    assert [each.split(" ")[2] for each in findings] == ["undecidable:"] * 6
    assert all(reason in each for each in findings)


def test_acls_of_absent_topics_and_users_are_suspect() -> None:
    gone, nobody = acl("User:orders", "orders.old"), acl("User:old", "orders")
    live = replace(
        LIVE,
        parts={
            "acls": dict.fromkeys((READ, GROUP, gone, nobody), True),
            "users": {("orders", "S"): ScramUser("orders", "S", 4096)},
        },
    )
    settings = {
        "principal.builder.class": "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        "listeners": "USERS://:9092,CONTROLLER://:9093",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "USERS:SASL_SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    }
    findings = found(DECLARED, live, absent_topics=frozenset({"orders.old", "foreign"}), broker_configs={1: settings})
    assert [each for each in findings if each.startswith("acl-without-effect")] == [
        "acl-without-effect (cluster) suspect: no topic orders.old exists, but 1 ACL: Allow Read on Topic orders.old "
        "for User:orders",
        "acl-without-effect (cluster) suspect: User:old has no SCRAM credential, but 1 ACL: Allow Read on Topic orders "
        "for User:old",
    ]
    for name, value in (
        ("sasl.enabled.mechanisms", "SCRAM-SHA-512,PLAIN"),
        ("listener.name.users.sasl.enabled.mechanisms", "PLAIN"),
        ("listener.security.protocol.map", "USERS:SSL,CONTROLLER:PLAINTEXT"),
        ("principal.builder.class", "com.example.Builder"),
    ):
        assert not only_scram({1: settings, 2: {**settings, name: value}})


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([AuthorizerSettings(STANDARD, None, None)], []),
        (
            [AuthorizerSettings(STANDARD, None, False), AuthorizerSettings(STANDARD, frozenset(), True)],
            [
                "suspect: super.users is set on broker 1, and its value is hidden; the others: not set on broker 2",
                "fail: allow.everyone.if.no.acl.found differs between brokers: false on broker 1; true on broker 2",
            ],
        ),
        (
            [AuthorizerSettings(STANDARD, None, False), AuthorizerSettings(STANDARD, None, False)],
            ["pass: super.users is set on broker 1, 2, but brokers hide the values, so they cannot be compared"],
        ),
        (
            [AuthorizerSettings(STANDARD, frozenset(), False), AuthorizerSettings("", frozenset(), False)],
            [f"fail: authorizer.class.name differs between brokers: {STANDARD} on broker 1; not set on broker 2"],
        ),
    ],
)
def test_settings_of_the_authorizer_that_differ_by_broker(
    settings: list[AuthorizerSettings], expected: list[str]
) -> None:
    findings = found(DECLARED, replace(LIVE, settings=dict(enumerate(settings, 1))))
    assert findings == [f"authorizer-settings (cluster) {each}" for each in expected]


def test_drift_of_quotas_users_and_settings_of_groups() -> None:
    entity = (("client-id", None), ("user", "a"))
    declared = declared_access(
        parts={
            "quotas": {entity: ({"producer_byte_rate": 1024.0, "request_percentage": 50.0}, AT)},
            "users": {
                ("a", "SCRAM-SHA-512"): (ScramUser("a", "SCRAM-SHA-512", 8192), USER_AT),
                ("b", "SCRAM-SHA-512"): (ScramUser("b", "SCRAM-SHA-512", 4096), USER_AT),
            },
            "group_configs": {"billing": ({"consumer.session.timeout.ms": "60000"}, AT)},
        }
    )
    live = replace(
        LIVE,
        parts={
            "quotas": {
                entity: {"producer_byte_rate": 10.0, "request_percentage": 50.0, "consumer_byte_rate": 5.0},
                (("user", "o1"),): {"producer_byte_rate": 1.0},
                (("user", "x"),): {"producer_byte_rate": 1.0},
            },
            "users": {
                ("a", "SCRAM-SHA-512"): ScramUser("a", "SCRAM-SHA-512", 4096),
                ("o1", "SCRAM-SHA-256"): ScramUser("o1", "SCRAM-SHA-256", 4096),
            },
            "group_configs": {"billing": {"consumer.session.timeout.ms": "45000", "share.auto.offset.reset": "latest"}},
        },
    )
    assert found(declared, live) == [
        "quota-drift (cluster) fail: consumer_byte_rate of user a, default client-id is 5, declared not set "
        "@topics/orders.yaml:5:7",
        "quota-drift (cluster) fail: producer_byte_rate of user a, default client-id is 10, declared 1KiB "
        "@topics/orders.yaml:5:7",
        "quota-drift (cluster) fail: the quota of user o1 is in the scope of the stack, but not declared",
        "scram-user-drift (cluster) fail: the SCRAM-SHA-512 credential of user a has 4,096 iterations, declared 8,192 "
        "@access/users.yaml:2:3",
        "scram-user-drift (cluster) fail: the SCRAM-SHA-512 credential of user b is declared, but not on the cluster "
        "@access/users.yaml:2:3",
        "scram-user-drift (cluster) fail: the SCRAM-SHA-256 credential of user o1 is in the scope of the stack, but "
        "not declared",
        "scram-user-drift (cluster) pass: the mechanisms and iterations of 1 declared credential were compared, and "
        "not the passwords: Kafka never returns one",
        "group-config-drift (cluster) fail: consumer.session.timeout.ms of group billing is 45s, declared 1m "
        "@topics/orders.yaml:5:7",
        "group-config-drift (cluster) fail: share.auto.offset.reset of group billing is latest, declared not set "
        "@topics/orders.yaml:5:7",
    ]


def test_the_remedy_for_a_rate_that_nobody_declared_is_no_deploy() -> None:
    entity = (("user", "a"),)
    declared = declared_access(parts={"quotas": {entity: ({"consumer_byte_rate": 1.0}, AT)}})
    live = replace(LIVE, parts={**LIVE.parts, "quotas": {entity: {"producer_byte_rate": 999.0}}})
    remedies = [
        each.remedy
        for each in judge_access(AuditedAccess(declared, live), lambda _: True)
        if each.check == "quota-drift"
    ]
    assert remedies == [
        "run `topicwarden up --refresh`, or declare the live value",
        "declare it, or remove it with `kafka-configs --alter --delete-config`: a deploy removes only what the YAML "
        "declared before",
    ]


IDLE = UsagePolicy(idle_groups_after=2 * DAY_MS, exempt_groups=("console-*",))


def idle_groups(*groups: GroupUse, **more: Any) -> list[str]:
    return [f"{each.verdict}: {each.message}" for each in idle_findings(*groups, **more)]


def idle_findings(
    *groups: GroupUse,
    previous: int = NOW - DAY_MS,
    scope: StackScope = EVERY_TOPIC,
    usage: UsagePolicy | None = IDLE,
    unread: frozenset[str] = frozenset(),
    **more: object,
) -> list[Finding]:
    """Return the findings on groups of the topic ``orders``, which was written five days ago."""
    use = TopicUse("orders", "id", NOW - 9 * DAY_MS, NOW, groups_complete_since=NOW - 9 * DAY_MS)
    use = replace(use, **{"last_written": Interval(NOW - 6 * DAY_MS, NOW - 5 * DAY_MS), **more})  # type: ignore[arg-type]
    remembered = RememberedUse(
        NOW, {"orders": use}, {"orders": replace(use, observed_at=previous)}, {each.name: each for each in groups}
    )
    access = AuditedAccess(
        DeclaredAccess(), LiveAccess(), scope, use=remembered, usage=usage, unread={"orders": unread}
    )
    return [each for each in judge_access(access, lambda _: True) if each.message]


def old_group(name: str = "billing", **more: object) -> GroupUse:
    """Return a group that had members three days ago, and none since."""
    left = NOW - 3 * DAY_MS
    group = GroupUse(name, "classic", NOW - 9 * DAY_MS, NOW, Interval(left, left), topics=frozenset({"orders"}))
    return replace(group, **more)  # type: ignore[arg-type]


MOVED = Interval(NOW - 4 * DAY_MS, NOW - 3 * DAY_MS)


def test_a_group_without_members_and_commits_is_idle() -> None:
    assert idle_groups(old_group()) == [
        "fail: classic group billing has not been used for 3 d: no member, and no later offset committed, since "
        "2027-01-12T08:00:00Z"
    ]


@pytest.mark.parametrize(
    ("group", "more"),
    [
        (old_group(active=True), {}),
        (old_group(last=Interval(NOW - DAY_MS, NOW - DAY_MS)), {}),
        (old_group("console-consumer-1"), {}),
        (old_group(topics=frozenset({"orders", "hidden"})), {}),
        (old_group(topics=frozenset()), {}),
        (old_group(), {"scope": StackScope(("other",))}),
        (old_group(), {"scope": StackScope(groups=("orders-*",))}),
        (old_group(), {"usage": None}),
        (old_group(), {"usage": UsagePolicy(idle_after=1)}),
    ],
    ids=[
        *("members", "used a day ago", "exempt", "a topic that is not visible", "no topic", "a topic of another stack"),
        *("a group of another stack", "no policy", "no period"),
    ],
)
def test_a_group_is_not_idle(group: GroupUse, more: dict[str, Any]) -> None:
    assert idle_groups(group, **more) == []


def test_no_group_is_idle_before_observations_go_back_that_far() -> None:
    new = UsagePolicy(idle_groups_after=9 * DAY_MS + 1)
    assert idle_groups(old_group(), usage=new, groups_complete_since=None) == []


def test_a_group_that_one_late_observation_saw_is_suspect() -> None:
    assert [each[:7] for each in idle_groups(old_group(), previous=NOW - 2 * DAY_MS)] == ["suspect"]


def test_a_consumer_without_members_may_have_nothing_to_read() -> None:
    manual = old_group(last=MOVED)
    assert [each[:11] for each in idle_groups(manual)] == ["undecidable"]
    assert [each[:4] for each in idle_groups(manual, unread=frozenset({"billing"}))] == ["fail"]
    new_records: dict[str, Any] = {"last_written": Interval(NOW - DAY_MS, NOW)}
    assert [each[:11] for each in idle_groups(manual, unread=frozenset({"billing"}), **new_records)] == ["undecidable"]


@pytest.mark.parametrize(
    ("name", "group_type", "command", "exempt"),
    [
        ("billing", "classic", "kafka-consumer-groups --delete --group billing", "[billing]"),
        ("g; rm -rf ~", "share", "kafka-share-groups --delete --group 'g; rm -rf ~'", '["g; rm -rf ~"]'),
        ("a, b", "streams", "kafka-streams-groups --delete --group 'a, b'", '["a, b"]'),
    ],
)
def test_the_remedy_of_an_idle_group_quotes_its_name_and_has_the_tool_of_its_type(
    name: str, group_type: str, command: str, exempt: str
) -> None:
    (finding,) = idle_findings(old_group(name, group_type=group_type))
    assert finding.remedy == (
        f"if nobody needs it, delete it: `{command}`; or exempt it in a policy: `usage: {{exempt_groups: {exempt}}}`"
    )


def test_groups_that_were_hidden_for_a_while_are_undecidable() -> None:
    assert idle_groups(old_group(), groups_complete_since=NOW - DAY_MS) == [
        "undecidable: 1 group may be unused, but groups were not visible all the time: billing"
    ]
