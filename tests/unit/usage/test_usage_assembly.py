"""Test what a usage report says of observations, declarations and policies, on plain values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.access_parts import live_access
from tests.support.projects import project_of
from topicwarden.kafka.read.group_lags import GroupLag, PartitionLag, UnreadRecord
from topicwarden.kafka.read.snapshot import LiveTopic, PartitionExtent, PartitionReplicas, Snapshot
from topicwarden.model.access import (
    Acl,
    AuthorizerSettings,
    LiveAccess,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)
from topicwarden.model.timestamps import utc
from topicwarden.model.topic import Topic
from topicwarden.model.usage import (
    DAY_MS,
    AuthorizerLogs,
    GroupUse,
    Interval,
    LogCoverage,
    LoggedUse,
    TopicUse,
    Use,
    UseAction,
    UserKind,
    UseSample,
)
from topicwarden.model.usage_report import TopicUsage, UsageReport
from topicwarden.policies.check_specs import check
from topicwarden.policies.usage_policy import CostPolicy, UsagePolicy
from topicwarden.specs.stacks.stack_scope import StackScope
from topicwarden.usage.assemble_report import usage_report
from topicwarden.usage.usage_facts import UsageFacts
from topicwarden.usage.use_context import UseContext
from topicwarden.usage.use_history import RememberedUse

NOW = 1_800_000_000_000
GIB = 1 << 30
TODAY = Interval(NOW - DAY_MS, NOW)
FILES = {
    "shop/orders.yaml": """\
owner: team-orders
partitions: 1
replication_factor: 3
access:
  produce: [{principal: User:orders, transactional_id: orders-, prefix: true}]
  consume: [{principal: User:billing, group: billing}, {principal: User:old, group: old}]
""",
    "shop/free.yaml": "{owner: team-web, partitions: 1, replication_factor: 3}\n",
}
POLICY = UsagePolicy(idle_after=30 * DAY_MS, idle_groups_after=30 * DAY_MS, unused_access_after=30 * DAY_MS)
COST = CostPolicy(currency="EUR", storage_gib_month=1.0, tiered_gib_month=2.0, written_gib=0.5, read_gib=0.25)


def acl(user: str, operation: Operation, kind: ResourceType, name: str) -> Acl:
    return Acl(f"User:{user}", "*", operation, PermissionType.ALLOW, kind, name)


def read(user: str, topic: str, group: str) -> list[Acl]:
    return [
        acl(user, Operation.READ, ResourceType.TOPIC, topic),
        acl(user, Operation.READ, ResourceType.GROUP, group),
    ]


LIVE = live_access(
    frozenset([*read("billing", "orders", "billing"), *read("fraud", "orders", "fraud"), *read("ml", "orders", "ml"),
               replace(acl("ml2", Operation.READ, ResourceType.GROUP, "ml"), pattern_type=PatternType.PREFIXED),
               acl("ml2", Operation.READ, ResourceType.TOPIC, "orders"),
               acl("orders", Operation.WRITE, ResourceType.TOPIC, "orders"),
               acl("orders", Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "orders-1")]),
    settings={1: AuthorizerSettings("StandardAuthorizer", frozenset({"User:admin"}), None)},
)  # fmt: skip


def group(name: str, **fields: object) -> Use:
    known = {"first_seen": NOW - 90 * DAY_MS, "last": TODAY, "group_type": "consumer", "members": 1} | fields
    return Use(UseAction.READ, UserKind.GROUP, name, **known)  # type: ignore[arg-type]


def use(topic: str, *users: Use, **fields: object) -> TopicUse:
    known: dict[str, object] = {
        "observed_since": NOW - 90 * DAY_MS,
        "observed_at": NOW,
        "groups_complete_since": NOW - 90 * DAY_MS,
        "access_unchanged_since": NOW - 90 * DAY_MS,
    }
    return TopicUse(topic, "id", users=users, **(known | fields))  # type: ignore[arg-type]


def live(name: str, size: int | None = GIB, config: dict[str, str] | None = None) -> LiveTopic:
    topic = Topic(name, 1, 3, {"cleanup.policy": "delete", **(config or {})})
    extent = PartitionExtent(0, 1000, 1000, NOW, 999, 1_000_000, replica_bytes=size)
    replicas = PartitionReplicas(0, 1, (1, 2, 3), (1, 2, 3))
    return LiveTopic(topic, "id", dict.fromkeys(topic.config, "DEFAULT_CONFIG"), (replicas,), {0: extent})


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> UsageFacts:
    project = project_of(tmp_path_factory.mktemp("project"), FILES)
    checked = check(project, ["dev"])
    return UsageFacts(
        "dev",
        "1.0",
        Snapshot("c", NOW, {1: None}, {1: {"broker.id": "1"}}, {name: live(name) for name in ("free", "orders")}),
        RememberedUse(NOW, {"orders": use("orders", group("billing")), "free": use("free")}),
        {each.topic.name: each for each in checked.declarations["dev"]},
        UseContext(checked.access["dev"], LIVE, policy=POLICY),
    )


def of(report: UsageReport, name: str) -> TopicUsage:
    return next(topic for topic in report.topics if topic.name == name)


def with_context(facts: UsageFacts, **changes: object) -> UsageFacts:
    return replace(facts, context=replace(facts.context, **changes))  # type: ignore[arg-type]


def with_use(facts: UsageFacts, *uses: TopicUse, groups: tuple[GroupUse, ...] = ()) -> UsageFacts:
    """Return ``facts`` with these uses, which the observation of the day before also saw."""
    topics = {**facts.remembered.topics, **{each.topic: each for each in uses}}
    previous = {name: replace(each, observed_at=NOW - DAY_MS) for name, each in topics.items()}
    named = {each.name: each for each in groups}
    remembered = replace(facts.remembered, topics=topics, previous=previous, groups=named)
    return replace(facts, remembered=remembered, context=replace(facts.context, groups=named))


def test_the_candidates_and_the_declaration_of_each_user_are_named(facts: UsageFacts) -> None:
    lag = GroupLag("fraud", "orders", {0: PartitionLag(990, 10, UnreadRecord(990, NOW - 5_000, False))})
    writer = Use(UseAction.WRITE, UserKind.TRANSACTIONAL_ID, "orders-1", NOW, last=TODAY)
    users = group("billing"), group("fraud", active=True), group("ml"), writer
    facts = replace(with_use(facts, use("orders", *users)), lags={("fraud", "orders"): lag})
    snapshot = facts.snapshot
    topics = {**snapshot.topics, "orders": live("orders", config={"retention.ms": "60000"})}
    facts = replace(facts, snapshot=replace(snapshot, topics=topics))
    orders = of(usage_report(facts), "orders")
    assert [(user.name, user.declared, user.candidates) for user in orders.readers] == [
        ("fraud", False, ["User:fraud"]),
        ("ml", False, ["User:ml", "User:ml2"]),
        ("billing", True, ["User:billing"]),
    ]
    assert (orders.readers[0].lag, orders.readers[0].lag_ms) == (10, 5_000)
    assert orders.readers[0].expires_at == NOW - 5_000 + 60_000
    assert [(user.name, user.declared, user.candidates) for user in orders.writers] == [
        ("orders-1", True, ["User:orders"])
    ]


def test_an_undeclared_use_has_its_entry_or_the_reason_why_it_needs_a_person(facts: UsageFacts) -> None:
    report = usage_report(with_use(facts, use("orders", group("fraud"), group("ml"), group("nobody"))))
    assert [(each.name, each.principal, each.candidates, each.entry, each.reason) for each in report.undeclared] == [
        ("fraud", "User:fraud", [], "{principal: User:fraud, group: fraud}", ""),
        (
            "ml",
            None,
            ["User:ml", "User:ml2"],
            "{principal: PRINCIPAL, group: ml}",
            "2 principals can be the user",
        ),
    ]
    assert {str(each.location) for each in report.undeclared} == {"topics/shop/orders.yaml:6:12"}


def test_a_group_that_a_hidden_setting_may_open_is_not_called_undeclared(facts: UsageFacts) -> None:
    facts = with_use(facts, use("orders", group("nobody")))
    orders = of(usage_report(facts), "orders")
    assert [(user.name, user.declared) for user in orders.readers] == [("nobody", None)]
    closed = replace(LIVE, settings={1: AuthorizerSettings("StandardAuthorizer", frozenset(), False)})
    (found,) = usage_report(with_context(facts, live=closed)).undeclared
    assert (found.name, found.reason) == ("nobody", "no ACL allows it to anyone but super users")


def test_offsets_that_never_moved_and_uses_before_a_change_are_no_use(facts: UsageFacts) -> None:
    left = group("fraud", last=None)
    earlier = group("ml", last=Interval(NOW - 9 * DAY_MS, NOW - 8 * DAY_MS))
    changed = use("orders", left, earlier, access_unchanged_since=NOW - 2 * DAY_MS)
    assert usage_report(with_use(facts, changed)).undeclared == []


def test_exempt_groups_and_those_of_other_stacks_are_not_undeclared(facts: UsageFacts) -> None:
    facts = with_use(facts, use("orders", group("fraud"), group("ml")))
    exempt = with_context(facts, policy=UsagePolicy(exempt_groups=("fraud", "ml*")))
    assert usage_report(exempt).undeclared == []
    scoped = with_context(facts, scope=StackScope(groups=("ml",)))
    assert [each.name for each in usage_report(scoped).undeclared] == ["ml"]


def test_a_topic_without_access_proposes_entries_but_nothing_is_wrong(facts: UsageFacts) -> None:
    report = usage_report(with_use(facts, use("free", group("fraud"))))
    (found,) = report.undeclared
    # The topic has no ACL, so it may be open to anyone; the group is not.
    assert (found.access_declared, found.principal, found.reason) == (False, "User:fraud", "")
    assert of(report, "free").readers[0].declared is None


def test_logs_name_the_principal_of_a_group(facts: UsageFacts) -> None:
    def logged(kind: ResourceType, name: str) -> LoggedUse:
        resource = Resource(kind, name)
        return LoggedUse("User:ml", "10.0.0.1", Operation.READ, resource, True, "rule", NOW - 10, NOW - 5, 3)

    logs = AuthorizerLogs(
        (logged(ResourceType.TOPIC, "orders"), logged(ResourceType.GROUP, "ml")),
        {"1": LogCoverage("1", NOW - DAY_MS, NOW, 10, 0, 100, True)},
        ("a note",),
    )
    report = usage_report(with_context(with_use(facts, use("orders", group("ml"))), logs=logs))
    assert [(each.kind, each.name, each.principal) for each in report.undeclared] == [
        (UserKind.GROUP, "ml", "User:ml"),
    ], "the entry of the group allows its principal to read"
    principal = next(user for user in of(report, "orders").readers if user.kind is UserKind.PRINCIPAL)
    assert (principal.last and principal.last.until, principal.hosts) == (NOW - 5, ["10.0.0.1"])
    assert [each.broker for each in report.logs] == ["1"]
    assert "a note" in report.notes


def logs_of(*uses: LoggedUse) -> AuthorizerLogs:
    return AuthorizerLogs(uses, {"1": LogCoverage("1", NOW - 90 * DAY_MS, NOW, 10, 0, 100, True)})


def line(principal: str, **fields: object) -> LoggedUse:
    """Return a read of the topic ``orders`` in an authorizer log."""
    known: dict[str, Any] = {"rule": "StandardAcl(…)", "first": NOW - 2 * DAY_MS, "last": NOW - DAY_MS, "count": 3}
    resource = Resource(ResourceType.TOPIC, "orders")
    known |= {"operation": Operation.READ, "resource": resource, "allowed": True, "request": "Fetch"} | fields
    return LoggedUse(principal, "10.0.0.1", **known)


def entries(facts: UsageFacts) -> list[tuple[str, str | None, str]]:
    return [(each.name, each.principal, each.reason) for each in usage_report(facts).undeclared]


HIDDEN = replace(LIVE, settings=None)


@pytest.mark.parametrize(
    ("logged", "known", "expected"),
    [
        (line("User:ml"), LIVE, [("User:ml", "User:ml", "")]),
        (line("User:ml", rule=""), LIVE, [("User:ml", "User:ml", "")]),
        (line("User:ml"), HIDDEN, [("User:ml", "User:ml", "")]),
        (line("User:ml", rule=""), HIDDEN, []),
        (line("User:root", rule="SuperUser"), HIDDEN, []),
        (line("User:root", rule="SuperUser"), LIVE, []),
        (line("User:admin"), LIVE, []),
        (line("User:billing"), LIVE, []),
        (line("User:monitoring", request="DescribeProducers"), LIVE, []),
    ],
)
def test_a_principal_in_a_log_is_undeclared_as_for_an_audit(
    facts: UsageFacts, logged: LoggedUse, known: LiveAccess, expected: list[tuple[str, str | None, str]]
) -> None:
    facts = with_context(with_use(facts, use("orders")), logs=logs_of(logged), live=known)
    assert entries(facts) == expected


def test_a_line_from_before_a_change_of_the_access_counts_only_if_no_change_was_observed(facts: UsageFacts) -> None:
    facts = with_context(facts, logs=logs_of(line("User:gone", last=NOW - 80 * DAY_MS)))
    assert entries(with_use(facts, use("orders", access_unchanged_since=NOW - 10 * DAY_MS))) == []
    first = use("orders", observed_since=NOW, access_unchanged_since=NOW)
    assert entries(with_use(facts, first)) == [("User:gone", "User:gone", "")]


@pytest.mark.parametrize(
    ("principal", "rule", "settings"),
    [("User:admin", "", LIVE.settings), ("User:root", "SuperUser", LIVE.settings), ("User:any", "", None)],
)
def test_no_entry_is_written_for_a_super_user_behind_a_group(
    facts: UsageFacts, principal: str, rule: str, settings: dict[int, AuthorizerSettings] | None
) -> None:
    logged = line(principal, rule=rule, resource=Resource(ResourceType.GROUP, "mine"))
    facts = with_context(facts, logs=logs_of(logged), live=replace(LIVE, settings=settings))
    assert entries(with_use(facts, use("free", group("mine")))) == [("mine", None, f"{principal} may be a super user")]


@pytest.mark.parametrize("missing", [None, live_access(None, missing={"acls": "this user lacks Describe on Cluster"})])
def test_unknown_acls_leave_the_principals_unknown(facts: UsageFacts, missing: LiveAccess | None) -> None:
    report = usage_report(with_context(with_use(facts, use("orders", group("fraud"))), live=missing))
    assert of(report, "orders").readers[0].candidates is None
    assert of(report, "orders").readers[0].declared is None
    assert report.undeclared == []
    assert any("Describe on Cluster" in note for note in report.notes) is (missing is not None)


def test_growth_and_cost_are_by_the_samples_and_prices(facts: UsageFacts) -> None:
    samples = (
        UseSample(NOW - 40 * DAY_MS, 0, 0),
        UseSample(NOW - 10 * DAY_MS, 500, GIB // 2),
        UseSample(NOW, 1_000, GIB),
    )
    report = usage_report(replace(with_use(facts, use("orders", samples=samples)), cost_policy=COST))
    orders = of(report, "orders")
    assert orders.growth
    assert orders.growth.over_ms == 10 * DAY_MS
    assert (orders.growth.records_per_day, orders.growth.replica_bytes_per_day) == (50.0, GIB / 20)
    assert orders.growth.written_bytes_per_day == 50_000.0
    assert orders.cost
    assert (orders.cost.storage, orders.cost.tiered, orders.cost.read) == (1.0, 0.0, None)
    assert orders.cost.written == round(50_000 * 30 / GIB * 0.5, 4)
    assert orders.cost.per_month == pytest.approx(1.0 + orders.cost.written)
    assert orders.cost.unknown == ["read: Kafka does not report how much clients read"]
    assert report.total.cost_per_month == pytest.approx(2.0 + orders.cost.written)
    assert of(report, "free").growth is None


@pytest.mark.parametrize(
    ("samples", "config", "written"),
    [
        ((UseSample(NOW - 1_000, 0, 0), UseSample(NOW, 10, 1)), {}, "none"),
        ((UseSample(NOW, 10, 1),), {}, "none"),
        ((UseSample(NOW - DAY_MS, 10, None), UseSample(NOW, 10, 5)), {"cleanup.policy": "compact"}, 0.0),
        ((UseSample(NOW - DAY_MS, 0, 1), UseSample(NOW, 10, 5)), {"cleanup.policy": "compact,delete"}, None),
        ((UseSample(NOW - DAY_MS, 0, 1), UseSample(NOW, 10, 5)), {"remote.storage.enable": "true"}, None),
        ((UseSample(NOW - DAY_MS, 50, 1), UseSample(NOW, 10, 5)), {}, 0.0),
    ],
)
def test_what_is_not_known_is_null(
    facts: UsageFacts, samples: tuple[UseSample, ...], config: dict[str, str], written: object
) -> None:
    topics = {**facts.snapshot.topics, "orders": live("orders", config=config)}
    changed = replace(facts, snapshot=replace(facts.snapshot, topics=topics), cost_policy=COST)
    orders = of(usage_report(with_use(changed, use("orders", samples=samples))), "orders")
    assert ("none" if orders.growth is None else orders.growth.written_bytes_per_day) == written
    tiered = "remote.storage.enable" in config
    assert (orders.tiered_bytes is None) is tiered
    assert orders.cost and any(each.startswith("tiered:") for each in orders.cost.unknown) is tiered


def test_a_topic_with_an_unknown_replica_has_no_size_and_no_cost_of_storage(facts: UsageFacts) -> None:
    topics = {**facts.snapshot.topics, "orders": live("orders", None)}
    report = usage_report(replace(facts, snapshot=replace(facts.snapshot, topics=topics), cost_policy=COST))
    orders = of(report, "orders")
    assert (orders.replica_bytes, orders.cost and orders.cost.storage) == (None, None)
    assert (report.total.unknown_sizes, report.total.replica_bytes) == (1, GIB)


def test_topics_are_sorted_by_cost_then_by_size_and_then_by_name(facts: UsageFacts) -> None:
    """The cost of ``e`` is 0.00, as that of the smaller topics."""
    sizes = {"c": 1, "a": 5 * GIB, "b": 1, "d": None, "e": 1_000}
    topics = {name: live(name, size) for name, size in sizes.items()}
    remembered = RememberedUse(NOW, {name: use(name) for name in sizes})
    facts = replace(facts, snapshot=replace(facts.snapshot, topics=topics), remembered=remembered)
    for policy in (None, COST):
        report = usage_report(replace(facts, cost_policy=policy))
        assert [topic.name for topic in report.topics] == ["a", "e", "b", "c", "d"]


def test_an_idle_topic_has_the_steps_to_delete_it_and_what_that_saves(facts: UsageFacts) -> None:
    idle = use("free", last_written=Interval(NOW - 50 * DAY_MS, NOW - 41 * DAY_MS))
    (found,) = usage_report(replace(with_use(facts, idle), cost_policy=COST)).removable[:1]
    assert (found.kind, found.name, found.proven, found.unused_since) == ("topic", "free", True, NOW - 41 * DAY_MS)
    assert found.reason.startswith("no write, no commit and no active reader for at least 41 d")
    assert found.yaml == [
        "add `allow: [{change: delete, until: DATE}]` to free in topics/shop/free.yaml, and deploy",
        "delete the declaration of free in topics/shop/free.yaml, and deploy",
    ]
    assert (found.frees_bytes, found.saves_per_month) == (GIB, 1.0)


@pytest.mark.parametrize(
    ("idle", "policy"),
    [
        (use("free", observed_since=NOW - 29 * DAY_MS), POLICY),
        (use("free", last_read=TODAY), POLICY),
        (use("free", group("g", active=True, last=None)), POLICY),
        (use("free"), UsagePolicy(idle_after=30 * DAY_MS, exempt=("fr*",))),
        (use("free"), UsagePolicy()),
        (use("free"), None),
    ],
)
def test_a_topic_is_not_idle(facts: UsageFacts, idle: TopicUse, policy: UsagePolicy | None) -> None:
    report = usage_report(with_context(with_use(facts, idle), policy=policy))
    assert [each.name for each in report.removable if each.kind == "topic" and each.name == "free"] == []


def test_a_topic_whose_groups_were_not_all_seen_is_not_proven_to_be_idle(facts: UsageFacts) -> None:
    for since in (None, NOW - 5 * DAY_MS):
        report = usage_report(with_use(facts, use("free", groups_complete_since=since)))
        (found,) = (each for each in report.removable if each.name == "free")
        assert not found.proven
        assert "groups that this user does not see" in found.reason


@pytest.mark.parametrize(("group_type", "proven"), [("classic", False), ("consumer", False), ("share", True)])
def test_a_topic_with_committed_offsets_is_not_proven_to_be_idle(
    facts: UsageFacts, group_type: str, proven: bool
) -> None:
    groups = (GroupUse("reader", group_type, NOW - 90 * DAY_MS, NOW, topics=frozenset({"free"})),)
    report = usage_report(with_use(facts, use("free"), groups=groups))
    (found,) = (each for each in report.removable if each.name == "free")
    assert found.proven is proven
    assert ("a consumer with assign() may commit them again" in found.reason) is not proven


def test_a_topic_with_an_unknown_log_end_is_not_proven_to_be_idle(facts: UsageFacts) -> None:
    free = live("free")
    leaderless = PartitionReplicas(1, None, (1, 2, 3), (1,))
    free = replace(free, topic=replace(free.topic, partitions=2), replicas=(*free.replicas, leaderless))
    facts = replace(facts, snapshot=replace(facts.snapshot, topics={**facts.snapshot.topics, "free": free}))
    (found,) = (each for each in usage_report(with_use(facts, use("free"))).removable if each.name == "free")
    assert (found.proven, "the log ends of 1 partition are not known now" in found.reason) == (False, True)


def test_an_earlier_observation_with_another_last_use_proves_nothing(facts: UsageFacts) -> None:
    facts = with_use(facts, use("free", last_written=Interval(NOW - 42 * DAY_MS, NOW - 41 * DAY_MS)))
    previous = {"free": use("free", observed_at=NOW - DAY_MS)}
    facts = replace(facts, remembered=replace(facts.remembered, previous=previous))
    (found,) = (each for each in usage_report(facts).removable if each.name == "free")
    assert not found.proven


@pytest.mark.parametrize(
    ("name", "argument"), [("x;rm", "'x;rm'"), ("orders.v1", r"'orders\.v1'"), ("orders_v-1", "orders_v-1")]
)
def test_an_undeclared_idle_topic_is_deleted_by_a_command_that_names_no_other(
    facts: UsageFacts, name: str, argument: str
) -> None:
    topics = {**facts.snapshot.topics, name: live(name)}
    found = usage_report(with_use(replace(facts, snapshot=replace(facts.snapshot, topics=topics)), use(name))).removable
    assert [each.command for each in found if each.name == name] == [f"kafka-topics --delete --topic {argument}"]


def test_an_idle_group_has_its_declaration_and_the_command_that_deletes_it(facts: UsageFacts) -> None:
    since = Interval(NOW - 60 * DAY_MS, NOW - 45 * DAY_MS)
    groups = (
        GroupUse("old", "classic", NOW - 90 * DAY_MS, NOW, since, topics=frozenset({"orders"})),
        GroupUse("share", "share", NOW - 90 * DAY_MS, NOW),
        GroupUse("active", "share", NOW - 90 * DAY_MS, NOW, active=True),
        GroupUse("new", "classic", NOW - DAY_MS, NOW),
    )
    found = [each for each in usage_report(with_use(facts, groups=groups)).removable if each.kind == "group"]
    assert [(each.name, each.command, each.yaml) for each in found] == [
        (
            "old",
            "kafka-consumer-groups --delete --group old",
            ["delete its entry in consume of orders, at topics/shop/orders.yaml:6:56"],
        ),
        ("share", "kafka-share-groups --delete --group share", []),
    ]
    assert "45 d" in found[0].reason


@pytest.mark.parametrize(
    ("more", "proven"),
    [
        ({}, True),
        ({"complete": NOW - 5 * DAY_MS}, False),
        ({"complete": None}, False),
        ({"topics": ()}, False),
        ({"topics": ("free", "hidden")}, False),
        ({"previous": False}, False),
        ({"last": Interval(NOW - 60 * DAY_MS, NOW - 45 * DAY_MS)}, False),
    ],
)
def test_an_idle_group_is_proven_as_an_audit_proves_it(facts: UsageFacts, more: dict[str, Any], proven: bool) -> None:
    left = more.get("last", Interval(NOW - 45 * DAY_MS, NOW - 45 * DAY_MS))
    group = GroupUse("g", "share", NOW - 90 * DAY_MS, NOW, left, topics=frozenset(more.get("topics", ("free",))))
    facts = with_use(facts, use("free", groups_complete_since=more.get("complete", NOW - 90 * DAY_MS)), groups=(group,))
    if not more.get("previous", True):
        facts = replace(facts, remembered=replace(facts.remembered, previous={}))
    (found,) = (each for each in usage_report(facts).removable if each.kind == "group")
    assert (found.proven, "groups were not visible" in found.reason) == (proven, "complete" in more)


def test_access_that_was_not_used_is_named_and_never_called_proven(facts: UsageFacts) -> None:
    report = usage_report(with_use(facts, use("orders", group("billing"), last_read=TODAY)))
    found = [(each.name, each.proven, str(each.location)) for each in report.removable if each.kind == "acl"]
    assert found == [
        ("Allow Read on Topic orders for User:old", False, "topics/shop/orders.yaml:6:56"),
        ("Allow Write on Topic orders for User:orders", False, "topics/shop/orders.yaml:5:13"),
    ]
    # Anyone who may write can be a producer without a name.
    written = usage_report(with_use(facts, use("orders", group("billing"), last_written=TODAY)))
    assert [each.name for each in written.removable if each.kind == "acl"] == [
        "Allow Read on Topic orders for User:old"
    ]
    short = use("orders", group("billing"), observed_since=NOW - 5 * DAY_MS)
    assert usage_report(with_use(facts, short)).removable == usage_report(with_use(facts, short)).removable
    assert [each for each in usage_report(with_use(facts, short)).removable if each.kind == "acl"] == []


@pytest.mark.parametrize(
    ("unchanged_for", "reported"), [(90 * DAY_MS, True), (30 * DAY_MS + 60_000, False), (31 * DAY_MS, True)]
)
def test_complete_logs_prove_that_access_was_not_used_until_they_end(
    facts: UsageFacts, unchanged_for: int, reported: bool
) -> None:
    ends = NOW - 20 * 3_600_000
    coverage = {"1": LogCoverage("1", NOW - 90 * DAY_MS, ends, 10, 0, 100, True)}
    orders = use("orders", group("billing"), access_unchanged_since=NOW - unchanged_for)
    facts = with_context(with_use(facts, orders), logs=AuthorizerLogs((), coverage))
    found = [each for each in usage_report(replace(facts, incomplete_logs="")).removable if "User:old" in each.name]
    assert [(each.proven, each.unused_since) for each in found] == [(True, ends - 30 * DAY_MS)] * reported
    assert all(each.reason.endswith(f", and in no authorizer log, until {utc(ends)}") for each in found)


def test_patterns_limit_the_report_and_groups_of_other_topics_are_left_out(facts: UsageFacts) -> None:
    both = GroupUse("g", "classic", NOW - 90 * DAY_MS, NOW, topics=frozenset({"orders", "free"}))
    one = GroupUse("h", "classic", NOW - 90 * DAY_MS, NOW, topics=frozenset({"free"}))
    facts = replace(with_use(facts, groups=(both, one)), patterns=("free",), selects=lambda topic: topic == "free")
    report = usage_report(facts)
    assert [topic.name for topic in report.topics] == ["free"]
    assert [each.name for each in report.removable if each.kind == "group"] == ["h"]


def test_a_new_history_is_one_note_with_the_times_from_which_on_something_can_be_idle(facts: UsageFacts) -> None:
    policy = UsagePolicy(idle_after=30 * DAY_MS, idle_groups_after=7 * DAY_MS, unused_access_after=30 * DAY_MS)
    new = {name: replace(each, observed_since=NOW - DAY_MS) for name, each in facts.remembered.topics.items()}
    facts = replace(facts, remembered=replace(facts.remembered, topics=new))
    assert usage_report(with_context(facts, policy=policy)).notes == [
        "the use of topics has been observed since 2027-01-14T08:00:00Z; it shows idle groups from "
        "2027-01-21T08:00:00Z on, idle topics and unused access from 2027-02-13T08:00:00Z on"
    ]


def test_hidden_parts_and_the_first_observation_are_limits(facts: UsageFacts) -> None:
    snapshot = replace(facts.snapshot, hidden=frozenset({"secret"}))
    first = {name: replace(each, observed_since=NOW) for name, each in facts.remembered.topics.items()}
    remembered = replace(
        facts.remembered, topics=first, unseen=("groups (Describe)",), notes=("the history is damaged",)
    )
    facts = replace(facts, snapshot=snapshot, remembered=remembered, missing=("sizes (Describe)",))
    report = usage_report(with_context(facts, policy=None))
    assert report.notes == [
        "not visible: 1 declared topic (Describe on Topic): secret",
        "not visible: sizes (Describe)",
        "not visible: groups (Describe)",
        "the history is damaged",
        "policies have no usage: block for this stack, so nothing is reported as idle or unused",
        "this is the first observation: who wrote and committed shows from the second report on",
    ]
