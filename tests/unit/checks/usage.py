"""Define cases for the checks of use: who may be the user, when the use was, and what is not visible."""

from __future__ import annotations

from dataclasses import replace

from tests.support.access_parts import declared_access, live_access
from tests.support.subjects import NOW, internal, subject
from tests.unit.checks.cases import FAIL, SUSPECT, UNDECIDABLE, Case
from topicwarden.audit.audited_topic import AuditedTopic
from topicwarden.model.access import (
    AccessSource,
    Acl,
    AuthorizerSettings,
    DeclaredAccess,
    LiveAccess,
    Operation,
    PatternType,
    PermissionType,
    Resource,
    ResourceType,
)
from topicwarden.model.problem import Location
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
from topicwarden.policies.usage_policy import UsagePolicy
from topicwarden.specs.stacks.stack_scope import EVERY_TOPIC, StackScope
from topicwarden.usage.use_context import UseContext

STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
TOPIC, GROUP, TXN = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
FIRST, BEFORE = NOW - 3 * DAY_MS, NOW - DAY_MS
"""The first and the previous observation; the current one is at NOW."""
LAST = Interval(BEFORE, NOW)


def acl(
    principal: str,
    operation: Operation,
    kind: ResourceType = TOPIC,
    name: str = "t",
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    return Acl(principal, "*", operation, PermissionType.ALLOW, kind, name, pattern)


def at(line: int, description: str) -> AccessSource:
    return AccessSource(Location("topics/t.yaml", line, 3), description, "t")


CONSUME = frozenset({acl("User:billing", Operation.READ), acl("User:billing", Operation.READ, GROUP, "billing")})
PRODUCE = frozenset({acl("User:orders", Operation.WRITE), acl("User:orders", Operation.WRITE, TXN, "orders")})
DECLARED = declared_access(
    acls={
        **{each: (at(5, "consume of t"),) for each in CONSUME},
        **{each: (at(6, "produce of t"),) for each in PRODUCE},
    }
)
READERS = declared_access(acls={each: (at(5, "consume of t"),) for each in CONSUME})
NO_GROUP = declared_access(acls={acl("User:billing", Operation.READ): (at(5, "consume of t"),)})
MALLORY = frozenset({acl("User:mallory", Operation.READ), acl("User:mallory", Operation.READ, GROUP, "mallory")})


def live(
    *more: Acl,
    acls: frozenset[Acl] | None = CONSUME | PRODUCE,
    open_without_acl: bool = False,
    authorizer: str = STANDARD,
) -> LiveAccess:
    settings = AuthorizerSettings(authorizer, frozenset({"User:admin"}), open_without_acl)
    return live_access(acls=None if acls is None else acls | {*more}, settings={1: settings})


def group(name: str = "mallory", **more: object) -> Use:
    return Use(UseAction.READ, UserKind.GROUP, name, FIRST, **more)  # type: ignore[arg-type]


def producer(name: str = "mallory-1", kind: UserKind = UserKind.TRANSACTIONAL_ID, **more: object) -> Use:
    return Use(UseAction.WRITE, kind, name, FIRST, **more)  # type: ignore[arg-type]


MEMBER = group(active=True, last=Interval(NOW, NOW), members=1, hosts=frozenset({"10.0.0.7"}), group_type="consumer")
ONCE = group(last=LAST, moves=(LAST,))
TWICE = group(last=LAST, moves=(Interval(FIRST, BEFORE), LAST))
OPEN = producer(active=True, last=Interval(NOW, NOW))
WROTE = producer(last=LAST, moves=(LAST,))
NUMBER = producer("4711", UserKind.PRODUCER_ID, last=LAST, moves=(LAST,))


def used(
    *users: Use,
    declared: DeclaredAccess = DECLARED,
    access: LiveAccess | None = None,
    scope: StackScope = EVERY_TOPIC,
    policy: UsagePolicy | None = None,
    logs: AuthorizerLogs | None = None,
    since: int = FIRST,
    again: int | None = BEFORE - 2 * DAY_MS,
    groups_visible: int | None = FIRST,
    visible: int | None = FIRST,
    groups: tuple[GroupUse, ...] = (),
    first: bool = False,
    **more: object,
) -> AuditedTopic:
    """Return a topic with ``users``, as the third observation sees it, or the ``first`` one."""
    use = TopicUse(
        "t",
        "id",
        NOW if first else FIRST,
        NOW,
        users=users,
        complete_since=visible,
        producers_complete_since=visible,
        groups_complete_since=groups_visible,
        access_unchanged_since=NOW if first else since,
        access_seen_again=None if first else again,
        samples=(UseSample(NOW, 100, 1_000),),
    )
    use = replace(use, **more)  # type: ignore[arg-type]
    context = UseContext(
        declared, live() if access is None else access, scope, policy, logs, {each.name: each for each in groups}
    )
    return replace(
        subject(),
        use=use,
        previous_use=None if first else replace(use, observed_at=BEFORE),
        use_context=context,
    )


def logged(
    principal: str = "User:mallory",
    operation: Operation = Operation.WRITE,
    *,
    last: int = NOW - 1_000,
    rule: str = "MatchingAcl(acl=StandardAcl(...))",
) -> LoggedUse:
    return LoggedUse(principal, "10.0.0.7", operation, Resource(TOPIC, "t"), True, rule, last, last, 3, "PRODUCE")


def broker_log(broker: int = 1, **more: object) -> LogCoverage:
    coverage = LogCoverage(f"broker-{broker}", NOW - 40 * DAY_MS, NOW - 1_000, 9_000, 0, 60_000, True, escaped=True)
    return replace(coverage, **more)  # type: ignore[arg-type]


def logs(*uses: LoggedUse, left_out: int = 0, brokers: tuple[int, ...] = (1, 2, 3), **more: object) -> AuthorizerLogs:
    return AuthorizerLogs(uses, {f"broker-{each}": broker_log(each, **more) for each in brokers}, left_out=left_out)


IDLE = UsagePolicy(idle_after=2 * DAY_MS - 1, exempt=("*.dlq",))


def idle(*users: Use, policy: UsagePolicy = IDLE, since: int = NOW - 4 * DAY_MS, **more: object) -> AuditedTopic:
    """Return a topic that nobody has used since ``since``; the previous observation was a day ago."""
    return used(*users, policy=policy, observed_since=since, groups_visible=since, **more)  # type: ignore[arg-type]


def observed_by(principal: str, of: AuditedTopic) -> AuditedTopic:
    """Return the topic in an audit by ``principal``."""
    assert of.use_context
    return replace(of, use_context=replace(of.use_context, observer=principal))


UNUSED = UsagePolicy(unused_access_after=30 * DAY_MS)
LONG = NOW - 40 * DAY_MS


def granted(
    *users: Use, logs: AuthorizerLogs | None = None, policy: UsagePolicy = UNUSED, **more: object
) -> AuditedTopic:
    """Return a topic with the declared access, which observations of 40 days have seen. It was written a day ago."""
    settings = {"since": LONG, "visible": LONG, "observed_since": LONG, "last_written": LAST, **more}
    return used(*users, logs=logs, policy=policy, **settings)  # type: ignore[arg-type]


def not_on_cluster(of: AuditedTopic) -> AuditedTopic:
    return replace(of, live=None)


BILLING = group("billing", active=True, last=Interval(NOW, NOW))
ORDERS = producer("orders", last=LAST, moves=(LAST,))

CONSUMERS = "undeclared-consumer"
PRODUCERS = "undeclared-producer"

CASES = (
    Case(CONSUMERS, "the declared group", used(BILLING), ()),
    Case(
        CONSUMERS,
        "an undeclared group with members, for longer than a session",
        used(MEMBER, access=live(*MALLORY)),
        (FAIL,),
        evidence={"user": "mallory", "members": 1, "type": "consumer", "hosts": "10.0.0.7"},
        says="consumer group mallory (1 member from 10.0.0.7) reads the topic",
    ),
    Case(
        CONSUMERS,
        "the remedy has the YAML with the candidate, and the ACL to remove",
        used(MEMBER, access=live(*MALLORY)),
        (FAIL,),
        says="declare it: `access: {consume: [{principal: User:mallory, group: mallory}]}`; if not, stop the client, "
        "and remove the ACL Allow Read on Topic t for User:mallory",
    ),
    Case(
        CONSUMERS, "the line of YAML is named", used(MEMBER), (FAIL,), says="declared at topics/t.yaml:5:3: Allow Read"
    ),
    Case(CONSUMERS, "members within a session after the change", used(MEMBER, again=BEFORE - 119_999), (SUSPECT,)),
    Case(
        CONSUMERS, "members just longer than a session after the change", used(MEMBER, again=BEFORE - 120_000), (FAIL,)
    ),
    Case(
        CONSUMERS,
        "a classic group may have a session of half an hour",
        used(replace(MEMBER, group_type="classic"), again=BEFORE - 1_859_999),
        (SUSPECT,),
    ),
    Case(
        CONSUMERS,
        "a new group",
        used(replace(MEMBER, first_seen=NOW), again=None, groups=(GroupUse("mallory", "", NOW, NOW),)),
        (FAIL,),
        says="and no such user",
    ),
    Case(
        CONSUMERS,
        "a new group, but not all groups were visible before",
        used(
            replace(MEMBER, first_seen=NOW),
            again=None,
            groups=(GroupUse("mallory", "", NOW, NOW),),
            groups_visible=FIRST + 1,
        ),
        (SUSPECT,),
    ),
    Case(
        CONSUMERS,
        "a known group that is new to the topic",
        used(replace(MEMBER, first_seen=NOW), again=None, groups=(GroupUse("mallory", "", FIRST, NOW),)),
        (SUSPECT,),
    ),
    Case(CONSUMERS, "members and moved offsets", used(replace(MEMBER, moves=(LAST,)), again=None), (FAIL,)),
    Case(
        CONSUMERS,
        "moved before the change",
        used(replace(MEMBER, moves=(LAST,)), since=BEFORE + 1, again=None),
        (SUSPECT,),
    ),
    Case(CONSUMERS, "first look at members", used(replace(MEMBER, first_seen=NOW), first=True), (SUSPECT,)),
    Case(CONSUMERS, "first look at offsets", used(group(), first=True), (SUSPECT,), says="the next audit settles it"),
    Case(CONSUMERS, "offsets that did not move", used(group()), ()),
    Case(CONSUMERS, "moved once, perhaps by an administrator", used(ONCE), (SUSPECT,), says="administrator"),
    Case(CONSUMERS, "moved once, an observation ago", used(group(moves=(Interval(FIRST, BEFORE),), last=LAST)), ()),
    Case(CONSUMERS, "moved twice", used(TWICE), (FAIL,), says="and again"),
    Case(
        CONSUMERS,
        "two runs saw the same move",
        used(group(last=LAST, moves=(Interval(BEFORE - 1, NOW - 1), LAST))),
        (SUSPECT,),
    ),
    Case(CONSUMERS, "not deployed yet", used(TWICE, access=live(acls=CONSUME)), (SUSPECT,), says="not deployed yet"),
    Case(CONSUMERS, "exempt", used(TWICE, policy=UsagePolicy(exempt_groups=("mal*",))), ()),
    Case(CONSUMERS, "a group of another stack", used(TWICE, scope=StackScope(groups=("billing*",))), ()),
    Case(
        CONSUMERS,
        "a principal of another stack",
        used(TWICE, access=live(*MALLORY), scope=StackScope(principals=("User:b*", "User:o*"))),
        (),
    ),
    Case(
        CONSUMERS,
        "a principal in scope",
        used(TWICE, access=live(*MALLORY), scope=StackScope(principals=("User:*",))),
        (FAIL,),
    ),
    Case(
        CONSUMERS,
        "without an authorizer, any principal",
        used(TWICE, access=live(authorizer=""), scope=StackScope(principals=("User:b*",))),
        (UNDECIDABLE,),
        says="without an authorizer",
    ),
    Case(CONSUMERS, "without an authorizer, no scope", used(TWICE, access=live(authorizer="")), (FAIL,)),
    Case(
        CONSUMERS, "hidden ACLs", used(TWICE, access=live(acls=None)), (UNDECIDABLE,), says="the ACLs are not visible"
    ),
    Case(CONSUMERS, "a declaration without a group", used(TWICE, declared=NO_GROUP, access=live(authorizer="")), ()),
    Case(CONSUMERS, "a declaration without a group, and no ACL for it", used(TWICE, declared=NO_GROUP), (FAIL,)),
    Case(
        CONSUMERS,
        "the declared principal has the group by another ACL",
        used(TWICE, access=live(acl("User:billing", Operation.READ, GROUP, "mal", PatternType.PREFIXED))),
        (),
    ),
    Case(
        CONSUMERS,
        "a group without an ACL is open to everyone",
        used(TWICE, access=live(open_without_acl=True)),
        (UNDECIDABLE,),
        says="allow.everyone.if.no.acl.found",
    ),
    Case(CONSUMERS, "groups are hidden", used(TWICE, groups_visible=None), (FAIL, UNDECIDABLE), says="may not see"),
    Case(CONSUMERS, "only a wildcard is declared", used(TWICE, declared=DeclaredAccess()), None),
    Case(CONSUMERS, "an internal topic", replace(used(TWICE), internal=internal("a-b-changelog").internal), None),
    Case(CONSUMERS, "not on the cluster", not_on_cluster(used(TWICE)), None),
    Case(PRODUCERS, "the declared transactional id", used(ORDERS), ()),
    Case(
        PRODUCERS,
        "an undeclared transactional id wrote",
        used(WROTE),
        (FAIL,),
        says="transactional id mallory-1 has written",
    ),
    Case(
        PRODUCERS,
        "the remedy names the principal of the log",
        used(
            WROTE,
            logs=logs(replace(logged("User:eve"), resource=Resource(TXN, "mallory-1"))),
        ),
        (FAIL,),
        says="`access: {produce: [{principal: User:eve, transactional_id: mallory-1}]}`",
    ),
    Case(PRODUCERS, "wrote before the change", used(WROTE, since=BEFORE + 1), ()),
    Case(PRODUCERS, "an open transaction, within its time", used(OPEN, again=BEFORE - 969_999), (SUSPECT,)),
    Case(PRODUCERS, "an open transaction, after its time", used(OPEN, again=BEFORE - 970_000), (FAIL,)),
    Case(PRODUCERS, "a new open transaction", used(replace(OPEN, first_seen=NOW), again=None), (FAIL,)),
    Case(PRODUCERS, "a number, and a declared writer", used(NUMBER), ()),
    Case(
        PRODUCERS,
        "a number, and no declared writer",
        used(NUMBER, declared=READERS),
        (FAIL,),
        says="with id 4711 has written",
    ),
    Case(PRODUCERS, "producers are hidden", used(ORDERS, visible=None), (UNDECIDABLE,)),
    Case(
        PRODUCERS,
        "a logged principal",
        used(ORDERS, logs=logs(logged())),
        (FAIL,),
        evidence={"user": "User:mallory", "lines": 3},
        says="principal User:mallory from 10.0.0.7 was allowed to write",
    ),
    Case(PRODUCERS, "the declared principal in a log", used(ORDERS, logs=logs(logged("User:orders"))), ()),
    Case(PRODUCERS, "a super user in a log", used(ORDERS, logs=logs(logged("User:admin"))), ()),
    Case(
        PRODUCERS,
        "a super user by the rule in the log",
        used(ORDERS, logs=logs(logged(rule="SuperUser")), access=replace(live(), settings=None)),
        (),
    ),
    Case(PRODUCERS, "a reader in a log", used(ORDERS, logs=logs(logged(operation=Operation.READ))), ()),
    Case(
        PRODUCERS,
        "a principal of another stack in a log",
        used(ORDERS, logs=logs(logged()), scope=StackScope(principals=("User:orders",))),
        (),
    ),
    Case(PRODUCERS, "a log that a client may write", used(ORDERS, logs=logs(logged(), escaped=False)), (SUSPECT,)),
    Case(PRODUCERS, "a log of the future", used(ORDERS, logs=logs(logged(), last=NOW + 300_001)), (SUSPECT,)),
    Case(PRODUCERS, "lines before the change", used(ORDERS, logs=logs(logged(last=FIRST))), ()),
    Case(PRODUCERS, "lines before the first look", used(ORDERS, logs=logs(logged()), first=True), (SUSPECT,)),
    Case(
        PRODUCERS,
        "a line of eight days ago",
        used(ORDERS, logs=logs(logged(last=NOW - 7 * DAY_MS - 1)), since=LONG),
        (),
    ),
    Case(
        PRODUCERS,
        "hidden super users, and no rule in the log",
        used(ORDERS, logs=logs(logged(rule="")), access=replace(live(), settings=None)),
        (),
    ),
    Case(PRODUCERS, "no access declared", used(WROTE, declared=DeclaredAccess()), None),
    Case(
        "idle-topic",
        "idle in two observations",
        idle(),
        (FAIL,),
        evidence={"replica_bytes": 1_000, "unused_ms": 4 * DAY_MS},
        says="nobody has written to the topic for 4 d",
    ),
    Case(
        "idle-topic", "idle in one observation", idle(since=NOW - 2 * DAY_MS), (SUSPECT,), says="a clock may be wrong"
    ),
    Case("idle-topic", "observed just not long enough", idle(policy=UsagePolicy(idle_after=4 * DAY_MS + 1)), None),
    Case("idle-topic", "observed just long enough", idle(policy=UsagePolicy(idle_after=4 * DAY_MS)), (SUSPECT,)),
    Case(
        "idle-topic",
        "groups are hidden, but observed for a short time",
        idle(policy=UsagePolicy(idle_after=4 * DAY_MS + 1), groups_complete_since=None),
        None,
    ),
    Case("idle-topic", "written", idle(last_written=Interval(NOW - 5, NOW - 4)), ()),
    Case("idle-topic", "read", idle(last_read=Interval(NOW - 5, NOW - 4)), ()),
    Case("idle-topic", "an active group", idle(MEMBER), ()),
    Case("idle-topic", "a log has a read", idle(logs=logs(logged(operation=Operation.READ))), ()),
    Case(
        "idle-topic",
        "a log has a request that reads no record",
        idle(logs=logs(replace(logged(operation=Operation.READ), request="DESCRIBE_PRODUCERS"))),
        (FAIL,),
    ),
    Case(
        "idle-topic",
        "a log has a read by the user of the audit",
        observed_by("User:mallory", idle(logs=logs(logged(operation=Operation.READ)))),
        (SUSPECT,),
        says="reads by User:mallory do not count: it is the user of this audit",
    ),
    Case(
        "idle-topic",
        "a log has a write by the user of the audit",
        observed_by("User:mallory", idle(logs=logs(logged()))),
        (),
    ),
    Case(
        "idle-topic",
        "a log has reads by the user of the audit and by another one",
        observed_by(
            "User:mallory",
            idle(logs=logs(logged(operation=Operation.READ), logged("User:billing", Operation.READ))),
        ),
        (),
    ),
    Case(
        "idle-topic", "groups were hidden", idle(groups_complete_since=NOW - DAY_MS), (UNDECIDABLE,), says="not visible"
    ),
    Case(
        "idle-topic",
        "brokers keep committed offsets of a group",
        idle(groups=(GroupUse("reader", "", NOW, NOW, topics=frozenset({"t"})),)),
        (SUSPECT,),
        says="a consumer with assign() may commit the same ones again",
    ),
    Case("idle-topic", "exempt", idle(policy=UsagePolicy(idle_after=DAY_MS, exempt=("t",))), ()),
    Case("idle-topic", "no policy", used(), None),
    Case("idle-topic", "internal", replace(idle(), internal=internal("a-b-changelog").internal), None),
    Case(
        "unused-access",
        "complete logs without one of two principals",
        granted(BILLING, logs=logs(logged("User:orders"))),
        (FAIL,),
        evidence={"unused_acls": 1, "acls": 2, "principals": "User:billing"},
        says="Allow Read on Topic t for User:billing (topics/t.yaml:5:3)",
    ),
    Case(
        "unused-access",
        "complete logs with both",
        granted(logs=logs(logged("User:orders"), logged("User:billing", Operation.DESCRIBE))),
        (),
    ),
    Case("unused-access", "a broker without a log", granted(BILLING, ORDERS, logs=logs(brokers=(1, 2))), ()),
    Case("unused-access", "an unreadable line", granted(BILLING, ORDERS, logs=logs(unreadable=1)), ()),
    Case("unused-access", "no grants", granted(BILLING, ORDERS, logs=logs(has_grants=False)), ()),
    Case("unused-access", "a gap", granted(BILLING, ORDERS, logs=logs(largest_gap_ms=3_600_000)), ()),
    Case("unused-access", "left out", granted(BILLING, ORDERS, logs=logs(left_out=1)), ()),
    Case("unused-access", "not to the end", granted(BILLING, ORDERS, logs=logs(whole=False)), ()),
    Case("unused-access", "begins late", granted(BILLING, ORDERS, logs=logs(first=NOW - 30 * DAY_MS)), ()),
    Case("unused-access", "ends early", granted(BILLING, ORDERS, logs=logs(last=NOW - DAY_MS - 1)), ()),
    Case("unused-access", "declared for a shorter time", granted(logs=logs(), since=NOW - 29 * DAY_MS), None),
    Case("unused-access", "a new history", granted(since=NOW - 29 * DAY_MS, observed_since=NOW - 29 * DAY_MS), None),
    Case(
        "unused-access",
        "a broker that was removed",
        granted(
            BILLING,
            ORDERS,
            logs=logs(
                *(replace(logged(operation=Operation.CLUSTER_ACTION), host=f"10.0.0.{each}") for each in range(4))
            ),
        ),
        (),
    ),
    Case(
        "unused-access",
        "without logs, the group never appeared",
        granted(ORDERS),
        (SUSPECT,),
        evidence={"unused_acls": 1, "principals": "User:billing"},
        says="saw billing use the topic",
    ),
    Case(
        "unused-access",
        "without logs, no write at all",
        granted(last_written=None),
        (SUSPECT,),
        evidence={"unused_acls": 2},
        says="complete authorizer logs of 30d would be, and there are none",
    ),
    Case("unused-access", "without logs, and not all is visible", granted(ORDERS, visible=NOW), ()),
    Case("unused-access", "without logs, both are used", granted(BILLING, ORDERS), ()),
    Case("unused-access", "not deployed", granted(logs=logs(), access=live(acls=frozenset())), None),
    Case("unused-access", "no policy", used(logs=logs()), None),
)
